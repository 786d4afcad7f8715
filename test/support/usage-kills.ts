import { join } from 'node:path'
import { type AuditVerdict, verifyAudit } from '../../coordinator/kernel/audit/verify.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import type { TestStack } from './stack.ts'
import { pause, waitUntil } from './wait-until.ts'

const CLIENTS = 8
/** Answers between two kills. */
const ANSWERS = 20

interface UsageKills {
  /** Ids of the answered requests. */
  acknowledged: string[]
  /** Ids of those without a row of usage. */
  lost: string[]
  audit: AuditVerdict
}

/**
 * Kills the coordinator with SIGKILL while clients ask both cells of the stack for answers, once more
 * after the last of them, and compares the usage that it has recorded. The coordinator has ended when
 * this resolves.
 */
export const killUnderUse = async (
  stack: TestStack,
  { kills, model }: { kills: number; model: string },
): Promise<UsageKills> => {
  const acknowledged: string[] = []
  const over = new AbortController()
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!over.signal.aborted) {
      const id = await ask(stack, model)
      if (id === undefined) await pause()
      else acknowledged.push(id)
    }
  })
  const waitForMore = (): Promise<boolean> => {
    const count = acknowledged.length + ANSWERS
    return waitUntil(`${count} answers are acknowledged`, () => acknowledged.length >= count)
  }
  for (let kill = 0; kill < kills; kill++) {
    await waitForMore()
    await killAndRestart(stack)
  }
  await waitForMore()
  over.abort()
  await Promise.all(clients)
  // rows that were not in their table yet are found at the next start
  await killAndRestart(stack)
  await stack.coordinator.end('SIGTERM')
  const { recorded, audit } = await readStore(join(stack.folder, 'coordinator'))
  return { acknowledged, lost: acknowledged.filter(id => !recorded.has(id)), audit }
}

/** Id of a request that was answered as a whole. */
const ask = async ({ url, keys }: TestStack, model: string): Promise<string | undefined> => {
  const messages = [{ role: 'user', content: 'go' }]
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.enterprise}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages, max_tokens: 3 }),
  }).catch(() => undefined)
  const whole = await response?.json().catch(() => undefined)
  return response?.status === 200 && whole
    ? (response.headers.get('x-request-id') ?? undefined)
    : undefined
}

const killAndRestart = async ({ coordinator, waitForHealth }: TestStack): Promise<void> => {
  await coordinator.end('SIGKILL')
  coordinator.start()
  await waitForHealth(({ cells }) => cells === 2)
}

const readStore = async (stateDir: string) => {
  const store = await openStore(stateDir)
  try {
    const rows = await store.records.read.selectFrom('usage').select('request_id').execute()
    const recorded = new Set(rows.map(row => row.request_id))
    return { recorded, audit: await verifyAudit(store.ledger) }
  } finally {
    await store.close()
  }
}
