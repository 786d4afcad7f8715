import { createUsage } from '../../../../coordinator/access/quota/usage.ts'
import { appendAudit } from '../../../../coordinator/kernel/audit/audit.ts'
import { openStore } from '../../../../coordinator/kernel/store/store.ts'

/* Writes to the store without end and says on standard output what was acknowledged. */

const [folder = '', name = ''] = process.argv.slice(2)
const store = await openStore(folder)
const usage = createUsage(store)
const tell = (text: string): void => void process.stdout.write(`${text}\n`)

const row = (requestId: string) => ({
  at: 1,
  key_id: 'k',
  tenant_id: 't',
  model: 'm',
  cell_id: 'c',
  route: 'r',
  status: 'ok' as const,
  prompt_tokens: 1,
  completion_tokens: 1,
  cached_tokens: 0,
  duration_ms: 1,
  request_id: requestId,
})

const writer = async (id: string): Promise<void> => {
  for (let n = 0; ; n++) {
    const subject = `${id}-${n}`
    const entry = { actor: 'child', at: n, action: 'test', subject, outcome: 'done' as const }
    await store.ledger.sealed.write(trx => appendAudit(trx, entry))
    tell(`audit ${subject}`)
    await usage.record(row(subject))
    tell(`usage ${subject}`)
  }
}

await Promise.all(['a', 'b', 'c', 'd'].map(part => writer(name + part)))
