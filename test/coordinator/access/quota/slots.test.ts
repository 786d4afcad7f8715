import fc from 'fast-check'
import t from 'tap'
import { SharedMinutes } from '../../../../coordinator/access/quota/slots/shared-minutes.ts'
import { SlotClock } from '../../../../coordinator/access/quota/slots/slot-clock.ts'
import {
  grantStarts,
  type ReplicaSlotCount,
  type SlotGrant,
  type SlotWish,
} from '../../../../coordinator/access/quota/slots/slot-grant.ts'
import { SubjectSlots } from '../../../../coordinator/access/quota/slots/subject-slots.ts'
import { createElapsedMs } from '../../../../coordinator/kernel/leases/elapsed.ts'
import { openStore } from '../../../../coordinator/kernel/store/store.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { testSharedMinutes } from '../../../contracts/minutes.ts'
import { createStoreDatabase, postgresMissing } from '../../../support/postgres.ts'
import { temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

const WINDOW_MS = 60_000

const Step = fc.record({
  replica: fc.nat({ max: 2 }),
  pauseMs: fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 7000 })),
  act: fc.constantFrom('start', 'start', 'start', 'start', 'burst', 'refund', 'report'),
  /** Time that the wish and its answer are on their way. */
  thereMs: fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 3000 })),
  backMs: fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 3000 })),
})
type Step = typeof Step extends fc.Arbitrary<infer T> ? T : never

const History = fc.record({
  limit: fc.integer({ min: 1, max: 25 }),
  /** Clocks of the three coordinators, which agree with nothing. */
  ticksAt0: fc.tuple(fc.nat(100_000), fc.nat(100_000), fc.nat(100_000)),
  storeAt0: fc.nat(100_000),
  steps: fc.array(Step, { minLength: 20, maxLength: 250 }),
})
type History = typeof History extends fc.Arbitrary<infer T> ? T : never

/** Three coordinators and their store, in a time of their own. Returns the times of all starts. */
const playHistory = ({ limit, ticksAt0, storeAt0, steps }: History, windowSlots?: number) => {
  const rows: ReplicaSlotCount[] = []
  const starts: number[] = []
  let queue: { atMs: number; run: () => void }[] = []
  let nowMs = 0
  const after = (milliseconds: number, run: () => void) =>
    void queue.push({ atMs: nowMs + milliseconds, run })
  const passTime = (untilMs: number) => {
    for (;;) {
      queue = queue.toSorted((a, b) => a.atMs - b.atMs)
      const next = queue[0]
      if (next === undefined || next.atMs > untilMs) break
      queue = queue.slice(1)
      nowMs = next.atMs
      next.run()
    }
    nowMs = untilMs
  }

  const answerWish = (wish: SlotWish, replica: string): { grant: SlotGrant; nowMs: number } => {
    const base = { replica, nowMs: nowMs + storeAt0, ...(windowSlots && { windowSlots }) }
    const { grant, changes } = grantStarts(wish, rows, base)
    for (const change of changes) {
      const row = rows.find(row => row.replica === replica && row.slot === change.slot)
      if (row === undefined) rows.push({ replica, ...change })
      else row.starts = change.starts
    }
    return { grant, nowMs: base.nowMs }
  }

  const replicas = ticksAt0.map((at0, index) => {
    const clock = new SlotClock()
    const slots = new SubjectSlots(clock)
    const own: number[] = []
    let isAsking = false
    const ticks = () => nowMs + at0
    const ask = ({ thereMs, backMs }: Step, waiting: number | undefined) => {
      if (isAsking) return
      isAsking = true
      const beforeTicks = ticks()
      const wish = slots.wish({ subject: 'key', limit, waiting }, beforeTicks)
      after(thereMs, () => {
        const answer = answerWish(wish, `replica ${index}`)
        after(backMs, () => {
          isAsking = false
          clock.note({ beforeTicks, nowMs: answer.nowMs, afterTicks: ticks() })
          slots.noteReported(wish)
          slots.accept(wish, answer.grant, ticks())
        })
      })
    }
    const start = (step: Step) => {
      if (slots.countRemaining(limit, ticks()) === 0) return ask(step, 1)
      slots.add(ticks())
      own.push(nowMs)
      starts.push(nowMs)
      if (slots.isDue(ticks())) ask(step, 0)
    }
    const refund = () => {
      const startedMs = own.pop()
      if (startedMs === undefined) return
      slots.remove(startedMs + at0)
      starts.splice(starts.lastIndexOf(startedMs), 1)
    }
    return { start, refund, report: (step: Step) => ask(step, undefined) }
  })

  for (const step of steps) {
    passTime(nowMs + step.pauseMs)
    const replica = replicas[step.replica] as (typeof replicas)[number]
    if (step.act === 'refund') replica.refund()
    else if (step.act === 'report') replica.report(step)
    else for (let n = step.act === 'burst' ? 30 : 1; n > 0; n--) replica.start(step)
  }
  return starts
}

/** Largest number of starts in any 60 s, counted one by one. */
const countMost = (starts: readonly number[]): number =>
  Math.max(0, ...starts.map(end => starts.filter(at => at > end - WINDOW_MS && at <= end).length))

t.test('three coordinators never start more than the limit in any 60 seconds', async t => {
  const keepsLimit = (windowSlots?: number) =>
    fc.property(History, history => countMost(playHistory(history, windowSlots)) <= history.limit)
  t.test('with eleven slots', async t => {
    const { failed, counterexample } = fc.check(keepsLimit(), { numRuns: 400 })
    t.notOk(failed, JSON.stringify(counterexample))
  })
  t.test('which ten slots do not guarantee', async t => {
    t.ok(fc.check(keepsLimit(10), { numRuns: 2000, seed: 1, endOnFailure: true }).failed)
  })
})

const NOW = Date.UTC(2026, 10, 20)

t.test('a grant ends while the machine of its coordinator is suspended', async t => {
  const wall = { ms: 1_000_000 }
  let suspendedMs = 0
  const nowMs = () => wall.ms - suspendedMs
  const ticks = createElapsedMs({ now: () => wall.ms, nowMs })
  const minutes = new SharedMinutes({
    runtime: systemRuntime,
    exchange: async wishes => ({
      nowMs: wall.ms,
      bornMs: 0,
      isSettling: false,
      grants: wishes.map(wish => grantStarts(wish, [], { replica: 'a', nowMs: wall.ms }).grant),
    }),
    ticks,
  })
  const minute = minutes.open('key')
  await minute.reserve(10, ticks())
  t.ok(minute.isReady(10, ticks()))
  wall.ms += 50_000
  suspendedMs = 50_000
  t.notOk(minute.isReady(10, ticks()), 'others may have started as many since')
})

t.test('minutes in SQLite', async t => {
  testSharedMinutes(t, async t => {
    const clock = { ms: NOW }
    const folder = await temporaryFolder(t)
    const open = () => temporaryStore(t, folder, { now: () => clock.ms })
    return { stores: [await open(), await open(), await open()], clock }
  })
})

t.test('minutes in PostgreSQL', { skip: postgresMissing }, async t => {
  testSharedMinutes(t, async t => {
    const clock = { ms: NOW }
    const address = await createStoreDatabase(t)
    const open = async () => {
      const store = await openStore(address, { pollMilliseconds: 0, now: () => clock.ms })
      t.teardown(() => store.close())
      return store
    }
    return { stores: [await open(), await open(), await open()], clock }
  })
})
