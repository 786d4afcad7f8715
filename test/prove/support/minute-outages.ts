import { Agent } from 'node:http'
import { Keys } from '../../../coordinator/access/keys/keys.ts'
import { pause } from '../../support/wait-until.ts'
import { askModel } from './month-client.ts'
import { ReplicaSet } from './replica-set.ts'

/** Requests a minute of the key. */
const LIMIT = 60
/** A minute and a slot more: what is served within it counts against one limit. */
const WATCHED_MS = 55_000
const CLIENTS = 4

const OUTAGES = [
  'restart -m immediate',
  'restart -m fast',
  'promotion of a lagging standby',
] as const
type Outage = (typeof OUTAGES)[number]

/**
 * The minute of a key over an outage of PostgreSQL. One coordinator has served most of the limit; it
 * runs on, or is paused over the outage. The others must serve no more than the rest.
 */
export const proveMinuteOutages = async (): Promise<boolean> => {
  let holds = true
  for (const outage of OUTAGES)
    for (const isPaused of [false, true]) holds = (await play(outage, isPaused)) && holds
  return holds
}

const play = async (outage: Outage, isPaused: boolean): Promise<boolean> => {
  const perMinute = ['--tiers-free-requests-per-minute', `${LIMIT}`]
  const set = await ReplicaSet.start({ flags: perMinute, hasStandby: true })
  const agent = new Agent({ keepAlive: true })
  try {
    const secret = await createKey(set)
    const startedMs = performance.now()
    // the standby misses what comes from now on, where it matters
    if (outage === 'promotion of a lagging standby') await set.standby?.cutOff()
    const before = await askAt(set, agent, secret, { index: 0, count: 50 })
    const { process } = set.replica(0)
    if (isPaused) process.signal('SIGSTOP')
    await interrupt(set, outage)
    const backMs = performance.now()
    const watched = { secret, backMs, untilMs: startedMs + WATCHED_MS, isPaused }
    const after = await watch(set, agent, watched)
    const served = before + after.served
    console.log(
      `${outage}${isPaused ? ', its coordinator paused' : ''}: ${served} of ${LIMIT} served in a minute ` +
        `(${before} before), ${after.refused} refused with 503 for ${after.refusedSeconds} s, ` +
        `${after.limited} with 429`,
    )
    return served <= LIMIT
  } finally {
    set.replica(0).process.signal('SIGCONT')
    agent.destroy()
    await set.stop()
  }
}

const interrupt = async ({ cluster, standby }: ReplicaSet, outage: Outage): Promise<void> => {
  if (outage === 'promotion of a lagging standby') {
    await cluster.shutDown('immediate')
    return standby?.promote()
  }
  await cluster.shutDown(outage === 'restart -m fast' ? 'fast' : 'immediate')
  await cluster.start()
}

interface Watched {
  secret: string
  backMs: number
  untilMs: number
  isPaused: boolean
}

/** Asks the other coordinators until the minute is over, and the paused one once it has woken up. */
const watch = async (
  set: ReplicaSet,
  agent: Agent,
  { secret, backMs, untilMs, isPaused }: Watched,
) => {
  const counts = { served: 0, refused: 0, limited: 0 }
  /** Tenths of seconds since the outage in which a request was refused. */
  const refusedAt = new Set<number>()
  const wakeMs = backMs + (untilMs - backMs) / 2
  let isAwake = !isPaused
  const ask = async (client: number): Promise<void> => {
    for (let turn = client; performance.now() < untilMs; turn++) {
      if (!isAwake && performance.now() > wakeMs) {
        isAwake = true
        set.replica(0).process.signal('SIGCONT')
      }
      const index = isAwake ? turn : 1 + (turn % 2)
      const status = await askModel(agent, set.replica(index).url, secret)
      if (status === 200) counts.served++
      else if (status === 429) counts.limited++
      else {
        counts.refused++
        refusedAt.add(Math.floor((performance.now() - backMs) / 100))
      }
      if (status !== 200) await pause()
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_, client) => ask(client)))
  return { ...counts, refusedSeconds: refusedAt.size / 10 }
}

const askAt = async (
  set: ReplicaSet,
  agent: Agent,
  secret: string,
  { index, count }: { index: number; count: number },
): Promise<number> => {
  let served = 0
  for (let n = 0; n < count; n++)
    if ((await askModel(agent, set.replica(index).url, secret)) === 200) served++
  return served
}

const createKey = async ({ store }: ReplicaSet): Promise<string> => {
  const keys = new Keys({ store, logger: console })
  const person = { tenantId: 'demo', personId: 'demo_free', tier: 'free' } as const
  const { secret } = await keys.create(person, { actor: 'prove' })
  keys.close()
  return secret
}
