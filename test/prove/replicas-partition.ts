import { existsSync, globSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { verifyAudit } from '../../coordinator/kernel/audit/verify.ts'
import { waitUntil } from '../support/wait-until.ts'
import { leads, waitForLeader } from './support/leader.ts'
import { OldLeader } from './support/old-leader.ts'
import { send } from './support/recorder.ts'
import { type ReplicaProcess, ReplicaSet } from './support/replica-set.ts'

const STEPS_DOWN_MS = 3000
const LEADS_MS = 6000
const BACK_MS = 2000
const AWAY_MS = 1500
const SKEW_SECONDS = 30

/** Debian's libfaketime. */
const [FAKETIME = ''] = globSync('/usr/lib/*/faketime/libfaketime.so.1')

/**
 * The leading coordinator is cut off from PostgreSQL, and later PostgreSQL is killed and started
 * again, under load and with clocks that differ by a minute: another one leads, no key is refused.
 */
export const main = async (): Promise<boolean> => {
  const hasSkew = existsSync(FAKETIME)
  if (!hasSkew) console.log('libfaketime is not installed: the clocks agree')
  const envOf = (index: number) => (hasSkew ? skewedClock(index) : ({} as Record<string, string>))
  const set = await ReplicaSet.start({ hasNetworks: true, envOf })
  try {
    console.log(`the networks are ${set.replica(0).network?.kind}`)
    const load = startLoad(set)
    const hasStepped = await partition(set)
    const isBack = await restartDatabase(set)
    const { answered, refused } = await load.stop()
    console.log(`${answered} requests were answered meanwhile, ${refused} with 401`)
    const { ok } = await verifyAudit(set.store.ledger)
    console.log(`audit ${ok ? 'whole' : 'broken'}`)
    return hasStepped && isBack && refused === 0 && answered > 0 && ok
  } finally {
    await set.stop()
  }
}

/** The first clock is ahead, the second behind; monotonic clocks stay. */
const skewedClock = (index: number): Record<string, string> => ({
  LD_PRELOAD: FAKETIME,
  FAKETIME: `${[`+${SKEW_SECONDS}`, `-${SKEW_SECONDS}`, '+0'][index % 3]}s`,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
})

const partition = async (set: ReplicaSet): Promise<boolean> => {
  const leader = await waitForLeader(set)
  const others = set.replicas.filter(replica => replica !== leader)
  const old = await OldLeader.start(set, leader)
  await old.next(/^written$/)
  const cutAtMs = performance.now()
  leader.network?.blackhole()
  const sinceCut = (): number => Math.round(performance.now() - cutAtMs)
  const steppedDown = waitUntil(
    'the leader steps down',
    async () => !(await leads(set, leader)) && sinceCut(),
  )
  const led = waitForLeader(set, others).then(sinceCut)
  const [downMs, leadMs] = [await steppedDown, await led]
  const writtenBefore = old.count('written')
  console.log(`cut off, the leader stepped down after ${downMs} ms, another led after ${leadMs} ms`)
  leader.network?.heal()
  await waitUntil('the old leader is ready again', () => isReady(leader), 100)
  await old.next(/^conflict$/)
  await old.stop()
  const stale = old.count('written') - writtenBefore
  console.log(
    `its epoch wrote ${writtenBefore} times before, ${stale} times after, and was refused ${old.count('conflict')} times`,
  )
  const leaders = await Promise.all(set.replicas.map(replica => leads(set, replica)))
  return (
    downMs < STEPS_DOWN_MS &&
    leadMs < LEADS_MS &&
    leaders.filter(Boolean).length === 1 &&
    stale === 0
  )
}

const restartDatabase = async (set: ReplicaSet): Promise<boolean> => {
  await set.cluster.crash()
  await sleep(AWAY_MS)
  await set.cluster.start()
  const startedAtMs = performance.now()
  const write = async ({ url }: ReplicaProcess): Promise<number> => {
    const body = { participants: [{ id: 'ada', type: 'person', name: 'Ada' }] }
    await waitUntil(`${url} writes`, async () => {
      const { status } = await send(`${url}/a2a/conversations`, set.keys.enterprise, { body })
      return status === 201
    })
    return performance.now() - startedAtMs
  }
  const slowestMs = Math.round(Math.max(...(await Promise.all(set.replicas.map(write)))))
  console.log(`PostgreSQL was killed and started: all coordinators wrote after ${slowestMs} ms`)
  return slowestMs < BACK_MS
}

/** Requests at every coordinator that need a key, until it is stopped. */
const startLoad = (set: ReplicaSet) => {
  const counts = { answered: 0, refused: 0 }
  const over = new AbortController()
  const client = async ({ url }: ReplicaProcess): Promise<void> => {
    while (!over.signal.aborted) {
      const { status } = await send(`${url}/v1/models`, set.keys.pro)
      if (status !== 0) counts.answered++
      if (status === 401) counts.refused++
      await sleep(20)
    }
  }
  const clients = set.replicas.map(client)
  const stop = async () => {
    over.abort()
    await Promise.all(clients)
    return counts
  }
  return { stop }
}

const isReady = async ({ url }: ReplicaProcess): Promise<boolean> =>
  (await fetch(`${url}/readyz`)).ok
