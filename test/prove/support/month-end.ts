import { mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { initialise } from '../../../coordinator/access/keys/bootstrap.ts'
import { Keys } from '../../../coordinator/access/keys/keys.ts'
import { monthAt } from '../../../coordinator/access/quota/month.ts'
import { createToken } from '../../../coordinator/fleet/enrolment/join-tokens.ts'
import { openStore } from '../../../coordinator/kernel/store/store.ts'
import { Process } from '../../support/stack.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { echoCell } from './echo-cell.ts'
import { useUpMonth } from './month-client.ts'

interface MonthEnd {
  /** Number of clients that ask at once, each one request after another. */
  clients: number
  /** Requests a month of the key. */
  limit: number
  /** What is left of it at the start. */
  left: number
  /** How often the coordinator is killed with kill -9 meanwhile. */
  kills: number
}

interface MonthEndMetrics {
  /** Requests that reached the cell. */
  served: number
  /** Whole answers that clients have got. */
  answered: number
  /** Clients that were told 403 tier_exceeded in the end. */
  refused: number
  /** Requests still reserved in the ledger at the end. */
  reserved: number
}

const ADMIN = { actor: 'prove' }
const NO_MINUTE_LIMIT = ['--tiers-free-requests-per-minute', '100000']

/**
 * A real coordinator and a real cell; many clients of one key use up the rest of its month, and
 * each goes on until it is refused.
 */
export const playMonthEnd = async (plan: MonthEnd): Promise<MonthEndMetrics> => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-month-'))
  const stateDir = join(folder, 'coordinator')
  const { secret, keyId, token } = await prepare(stateDir, plan)
  let port = '0'
  const coordinator = new Process('shoal-coordinator', () => [
    ...['--state-dir', stateDir, '--http-port', port],
    ...['--tiers-free-requests-per-month', String(plan.limit), ...NO_MINUTE_LIMIT],
  ])
  coordinator.start()
  const [, url = '', chosen = ''] = await coordinator.line(/"url":"(http:\/\/127\.0\.0\.1:(\d+))"/)
  port = chosen
  const cell = echoCell(url, join(folder, 'cell'), token)
  const agent = new Agent({ keepAlive: true })
  try {
    await waitForModel(url)
    const clients = Array.from({ length: plan.clients }, () => useUpMonth(agent, () => url, secret))
    for (let kill = 1; kill <= plan.kills; kill++) {
      await cell.waitForServed(Math.floor((plan.left * kill) / (plan.kills + 2)))
      await coordinator.end('SIGKILL')
      coordinator.start()
    }
    const answered = (await Promise.all(clients)).reduce((sum, each) => sum + each, 0)
    await coordinator.end('SIGTERM')
    const reserved = await readReserved(stateDir, keyId)
    return { served: cell.servedCount(), answered, refused: clients.length, reserved }
  } finally {
    agent.destroy()
    await cell.stop()
    await coordinator.end('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

const prepare = async (stateDir: string, { limit, left }: MonthEnd) => {
  const store = await openStore(stateDir)
  const first = await initialise(store, { tenantId: 'main', personName: 'one' }, ADMIN)
  const keys = new Keys({ store, logger: console })
  const { tenantId, personId } = first.key
  const { key, secret } = await keys.create({ tenantId, personId, tier: 'free' }, ADMIN)
  const { secret: token } = await createToken(store.ledger, { uses: 1, ttlMinutes: 10 }, ADMIN)
  const month = monthAt(Date.now()).name
  const row = { month, subject: key.id, reserved: limit - left }
  await store.ledger.sealed.write(trx => trx.insertInto('quotas').values(row).execute())
  keys.close()
  await store.close()
  return { secret, keyId: key.id, token }
}

const readReserved = async (stateDir: string, keyId: string): Promise<number> => {
  const store = await openStore(stateDir, { pollMilliseconds: 0 })
  const query = store.ledger.read.selectFrom('quotas').select('reserved')
  const row = await query.where('subject', '=', keyId).executeTakeFirstOrThrow()
  await store.close()
  return row.reserved
}

const waitForModel = (url: string): Promise<boolean> =>
  waitUntil('a cell serves a model', async () => {
    const health = (await (await fetch(`${url}/v1/health`)).json()) as { models: number }
    return health.models > 0
  })
