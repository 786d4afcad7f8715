import { Agent } from 'node:http'
import { parseArgs } from 'node:util'
import { Keys } from '../../coordinator/access/keys/keys.ts'
import { monthAt } from '../../coordinator/access/quota/month.ts'
import { mostLost } from './support/lost-leases.ts'
import { proveMinuteOutages } from './support/minute-outages.ts'
import { useUpMonth } from './support/month-client.ts'
import { ReplicaSet } from './support/replica-set.ts'

interface QuotaPlan {
  clients: number
  left: number
  limit: number
  /** Rounds in which each coordinator is killed with kill -9 once. */
  rounds: number
}

/**
 * Many clients of one key at three coordinators use up its month: exactly the rest is served. Then
 * again, while each coordinator is killed in turn: never more, and what is lost are leases. Then the
 * minute of a key over outages of PostgreSQL, which `--minutes` proves alone.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = {
    clients: { type: 'string', default: '256' },
    left: { type: 'string', default: '5000' },
    rounds: { type: 'string', default: '1' },
    minutes: { type: 'boolean', default: false },
  } as const
  const { values } = parseArgs({ args: argv, options })
  if (values.minutes) return proveMinuteOutages()
  const plan = { clients: +values.clients, left: +values.left, limit: 50_000 }
  let holds = true
  for (const rounds of [0, +values.rounds]) holds = (await play({ ...plan, rounds })) && holds
  return (await proveMinuteOutages()) && holds
}

const play = async (plan: QuotaPlan): Promise<boolean> => {
  const { clients, left, limit } = plan
  const perMonth = ['--tiers-free-requests-per-month', `${limit}`]
  const perMinute = ['--tiers-free-requests-per-minute', '100000']
  const set = await ReplicaSet.start({ flags: [...perMonth, ...perMinute] })
  const agent = new Agent({ keepAlive: true })
  try {
    const { keyId, secret } = await createKey(set, limit - left)
    const startedMs = performance.now()
    const asking = Array.from({ length: clients }, (_, client) => {
      let turn = client
      return useUpMonth(agent, () => set.replica(turn++).url, secret)
    })
    const kills = await killInTurn(set, plan)
    const answered = (await Promise.all(asking)).reduce((sum, each) => sum + each, 0)
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
    for (const { process } of set.replicas) await process.end('SIGTERM')
    const reserved = await readReserved(set, keyId)
    const served = set.servedCount()
    const [lost, most] = [left - served, mostLost({ ...plan, kills }, set.replicas.length)]
    console.log(
      `${clients} clients, ${left} left, ${kills} kills: ${served} served, ${answered} answered, ` +
        `${lost} lost with leases (at most ${most}), ledger at ${reserved} of ${limit}, in ${seconds} s`,
    )
    if (kills === 0) return lost === 0 && answered === left && reserved === limit
    return lost >= 0 && lost <= most && reserved <= limit
  } finally {
    agent.destroy()
    await set.stop()
  }
}

/** Kills each coordinator once per round, spread over the requests that are left. */
const killInTurn = async (set: ReplicaSet, { left, rounds }: QuotaPlan): Promise<number> => {
  const kills = rounds * set.replicas.length
  for (let kill = 0; kill < kills; kill++) {
    const due = Math.floor((left * (kill + 1)) / (kills + 2))
    while (set.servedCount() < due) await new Promise(resolve => setTimeout(resolve, 5))
    await set.killAndRestart(kill)
  }
  return kills
}

const createKey = async ({ store }: ReplicaSet, reserved: number) => {
  const keys = new Keys({ store, logger: console })
  const person = { tenantId: 'demo', personId: 'demo_free', tier: 'free' } as const
  const { key, secret } = await keys.create(person, { actor: 'prove' })
  keys.close()
  const row = { month: monthAt(Date.now()).name, subject: key.id, reserved }
  await store.ledger.sealed.write(trx => trx.insertInto('quotas').values(row).execute())
  return { keyId: key.id, secret }
}

const readReserved = async ({ store }: ReplicaSet, keyId: string): Promise<number> => {
  const query = store.ledger.read.selectFrom('quotas').select('reserved')
  return (await query.where('subject', '=', keyId).executeTakeFirstOrThrow()).reserved
}
