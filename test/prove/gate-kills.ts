import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { bootstrap, type DemoKeys } from '../../coordinator/access/keys/bootstrap.ts'
import { verifyAudit } from '../../coordinator/kernel/audit/verify.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { Process } from '../support/stack.ts'

/** One person is enough at each. Several, because nobody may ask too often at one. */
const GATES = [
  ...['gate.minor-release-approve', 'gate.production-deploy', 'gate.customer-go-live-approve'],
  ...['gate.campaign-stage-advance', 'gate.content-publish-social', 'gate.avv-signature-confirm'],
]
/** Further along is higher; what was acknowledged may not be less far afterwards. */
const PROGRESS: Record<string, number> = { pending: 1, approved: 2, consumed: 3 }
const CLIENTS = 4

/**
 * People ask, approve and use while the coordinator is killed with kill -9 again and again. What
 * was acknowledged must be there after each start, and no approval may be used twice.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = { kills: { type: 'string', default: '100' } } as const
  const kills = Number(parseArgs({ args: argv, options }).values.kills)
  const folder = mkdtempSync(join(tmpdir(), 'shoal-gate-kills-'))
  const stateDir = join(folder, 'coordinator')
  const store = await openStore(stateDir)
  const { keys } = await bootstrap(store)
  await store.close()

  const coordinator = new Process('shoal-coordinator', () => [
    ...['--state-dir', stateDir, '--http-port', '0'],
  ])
  const known = { states: new Map<string, string>(), uses: new Map<string, number>() }
  for (let kill = 0; kill < kills; kill++) {
    coordinator.start()
    const [, url = ''] = await coordinator.line(/"url":"(http:\/\/127\.0\.0\.1:\d+)"/)
    const over = new AbortController()
    const clients = Array.from({ length: CLIENTS }, () => ask(url, keys, known, over.signal))
    await sleep(150 + Math.random() * 350)
    await coordinator.end('SIGKILL')
    over.abort()
    await Promise.all(clients)
  }
  return judge(stateDir, known, kills).finally(() =>
    rmSync(folder, { recursive: true, force: true }),
  )
}

interface Known {
  states: Map<string, string>
  /** Uses that were answered with 200. */
  uses: Map<string, number>
}

const ask = async (
  url: string,
  keys: DemoKeys,
  { states, uses }: Known,
  signal: AbortSignal,
): Promise<void> => {
  const post = async (key: string, path: string, body: object = {}) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal }
    const response = await fetch(`${url}${path}`, init)
    const json = (await response.json()) as { id: string; state: string }
    // more than a minute's calls are refused: that is no answer about a gate
    if (!response.ok) throw new Error(String(response.status))
    states.set(json.id, json.state)
    return json
  }
  while (!signal.aborted)
    try {
      const plan = { nonce: Math.random() }
      const gate = GATES[Math.floor(Math.random() * GATES.length)]
      const { id } = await post(keys.operator, `/v1/gates/${gate}/requests`, { plan, summary: 'x' })
      await post(keys.approver_a, `/v1/gates/requests/${id}/approve`)
      const tries = [1, 2].map(() =>
        post(keys.operator, `/v1/gates/requests/${id}/consume`, { plan }),
      )
      const used = (await Promise.allSettled(tries)).filter(one => one.status === 'fulfilled')
      uses.set(id, (uses.get(id) ?? 0) + used.length)
    } catch {
      await sleep(20)
    }
}

const judge = async (
  stateDir: string,
  { states, uses }: Known,
  kills: number,
): Promise<boolean> => {
  const store = await openStore(stateDir)
  const rows = await store.ledger.read.selectFrom('gate_requests').select(['id', 'state']).execute()
  const stored = new Map(rows.map(({ id, state }) => [id, state]))
  const progressOf = (state: string | undefined): number => PROGRESS[state ?? ''] ?? 0
  const lost = [...states].filter(([id, state]) => progressOf(stored.get(id)) < progressOf(state))
  const twice = [...uses].filter(([, count]) => count > 1)
  const { ok } = await verifyAudit(store.ledger)
  await store.close()
  console.log(
    `${kills} kills, ${states.size} requests acknowledged, ${lost.length} lost, ${twice.length} used twice, audit ${ok ? 'whole' : 'broken'}`,
  )
  return ok && lost.length === 0 && twice.length === 0 && states.size > 0
}
