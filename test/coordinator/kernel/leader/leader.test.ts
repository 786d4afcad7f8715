import t from 'tap'
import { LeaseLeader } from '../../../../coordinator/kernel/leader/lease-leader.ts'
import { openLeader } from '../../../../coordinator/kernel/leader/open.ts'
import { createSoleLeader } from '../../../../coordinator/kernel/leader/sole-leader.ts'
import { createLeases } from '../../../../coordinator/kernel/leases/leases.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { testLeader } from '../../../contracts/leader.ts'
import { silent } from '../../../support/cell.ts'
import { temporaryFolder, temporaryStore } from '../store/temporary.ts'

t.test('the leader lease holds in a store used by one process', async t => {
  testLeader(t, async t => {
    const { ledger } = await temporaryStore(t)
    const candidate = { leader: createSoleLeader(), ledger, campaign: async () => {} }
    return { candidates: [candidate], advance: () => {}, tenureMs: 0 }
  })
})

t.test('the leader lease row holds for two processes on one store', async t => {
  const tenureMs = 60_000
  testLeader(t, async t => {
    const folder = await temporaryFolder(t)
    let now = 1_000_000
    const open = async (owner: string) => {
      const { ledger } = await temporaryStore(t, folder, { now: () => now })
      const leases = createLeases(ledger)
      const runtime = { now: () => now, nowMs: () => now }
      const leader = new LeaseLeader({ leases, owner, logger: silent, runtime, tenureMs })
      t.teardown(() => leader.close())
      return { leader, ledger, campaign: () => leader.campaign() }
    }
    return {
      candidates: [await open('a'), await open('b')],
      advance: milliseconds => {
        now += milliseconds
      },
      tenureMs,
    }
  })
})

t.test(
  'a leader whose machine was suspended leads again only after it has renewed its lease',
  async t => {
    const clock = { now: 1_000_000, suspended: 0 }
    const { ledger } = await temporaryStore(t, undefined, { now: () => clock.now })
    const runtime = { now: () => clock.now + clock.suspended, nowMs: () => clock.now }
    const leases = createLeases(ledger)
    const leader = new LeaseLeader({ leases, owner: 'a', logger: silent, runtime, tenureMs: 3000 })
    t.teardown(() => leader.close())
    await leader.campaign()
    t.ok(leader.isLeader())
    clock.suspended += 3000
    t.notOk(leader.isLeader(), 'the monotonic clock stood still meanwhile')
    await leader.campaign()
    t.ok(leader.isLeader())
  },
)

t.test('a run of work of the leader that outlives its tenure writes nothing more', async t => {
  const store = await temporaryStore(t)
  const stack = new AsyncDisposableStack()
  const runs: (() => unknown)[] = []
  const schedules = {
    every: (_name: string, _seconds: number, run: () => unknown) => runs.push(run),
  }
  const { leaderWork } = await openLeader({
    store,
    stack,
    schedules,
    logger: silent,
    runtime: systemRuntime,
    replicas: { id: 'rep_1' },
  })
  const begun = Promise.withResolvers<string>()
  const ended = Promise.withResolvers<void>()
  leaderWork.every('test', 1, async ledger => {
    begun.resolve(await ledger.free.write(async () => 'written'))
    await ended.promise
    return ledger.free.write(async () => 'late')
  })
  const [run] = runs
  const running = run?.()
  t.equal(await begun.promise, 'written')
  await stack.disposeAsync()
  ended.resolve()
  await t.rejects(Promise.resolve(running), { code: 'conflict' })
  await run?.()
  await leaderWork.runOnce(() => t.fail('a run is skipped where another process leads'))
})
