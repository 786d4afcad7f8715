import t from 'tap'
import { StoreClock } from '../../../../coordinator/kernel/store/clock.ts'
import type { Ledger } from '../../../../coordinator/kernel/store/store.ts'

/** A store whose clock is an hour ahead, and that answers after a while by this process's clock. */
const scene = async () => {
  const world = { nowMs: 1000, aheadMs: 3_600_000, answerMs: 2 }
  const ledger = {
    free: { write: (work: (trx: never) => Promise<unknown>) => work(undefined as never) },
    nowMs: async () => {
      world.nowMs += world.answerMs
      const at = world.nowMs + world.aheadMs
      world.nowMs += world.answerMs
      return at
    },
  } as unknown as Ledger
  const clock = await StoreClock.open({ ledger, nowMs: () => world.nowMs })
  return { world, clock, difference: () => clock.now() - world.nowMs }
}

t.test('the clock of the store goes on between two readings', async t => {
  const { world, clock, difference } = await scene()
  t.equal(difference(), 3_600_000)
  world.nowMs += 5000
  t.equal(clock.now(), world.nowMs + 3_600_000)
})

t.test('a reading that took long does not replace a more exact one', async t => {
  const { world, clock, difference } = await scene()
  Object.assign(world, { aheadMs: 3_600_030, answerMs: 200 })
  await clock.sync()
  t.equal(difference(), 3_600_000)
})

t.test('a store whose clock was set is followed at once', async t => {
  const { world, clock, difference } = await scene()
  Object.assign(world, { aheadMs: 0, answerMs: 200 })
  await clock.sync()
  t.equal(difference(), 0)
})
