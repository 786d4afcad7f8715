import t from 'tap'
import { createBoundedCache } from '../../../../coordinator/kernel/base/bounded-cache.ts'
import { followChanges } from '../../../../coordinator/kernel/base/follow-changes.ts'
import { openAll } from '../../../../coordinator/kernel/base/open-all.ts'
import { Timers } from '../../../../coordinator/kernel/base/timers.ts'
import type { Timer } from '../../../../shared/runtime.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { waitUntil } from '../../../support/wait-until.ts'

/** Schedules that a test runs by hand, and what they logged. */
const scene = () => {
  const ticks: (() => void)[] = []
  const warned: string[] = []
  const stack = new AsyncDisposableStack()
  const timers = new Timers({
    stack,
    logger: { warn: (_: unknown, message?: string) => void warned.push(message ?? '') } as never,
    runtime: {
      setInterval: call => {
        ticks.push(call)
        const timer: Timer = {
          unref: () => timer,
          [Symbol.dispose]: () => void ticks.splice(ticks.indexOf(call), 1),
        }
        return timer
      },
    },
  })
  return { timers, stack, warned, ticks, tick: () => ticks.forEach(each => void each()) }
}

const turn = () => new Promise(resolve => setImmediate(resolve))

t.test('a full cache evicts the entry that was not used for the longest time', async t => {
  const cache = createBoundedCache<string, number>(2)
  cache.set('a', 1).set('b', 2)
  cache.get('a')
  cache.set('c', 3).set('c', 4)
  t.strictSame(
    [...cache.entries()],
    [
      ['c', 4],
      ['a', 1],
    ],
  )
})

t.test('a failed run of a schedule is logged, and the next one happens', async t => {
  const { timers, warned, tick } = scene()
  let runs = 0
  timers.every('sweep', 1, () => {
    runs++
    throw new Error('not now')
  })
  tick()
  await turn()
  tick()
  await turn()
  t.equal(runs, 2)
  t.strictSame(warned, ['a scheduled run failed', 'a scheduled run failed'])
})

t.test('a schedule has one run at a time, and its closing waits for that run', async t => {
  const { timers, stack, ticks, tick } = scene()
  const held = Promise.withResolvers<void>()
  let runs = 0
  timers.every('sweep', 1, () => {
    runs++
    return held.promise
  })
  tick()
  tick()
  await turn()
  t.equal(runs, 1)
  let isClosed = false
  const closing = stack.disposeAsync().then(() => {
    isClosed = true
  })
  await turn()
  t.strictSame([isClosed, ticks.length], [false, 0])
  held.resolve()
  await closing
})

t.test('two schedules cannot have one name', async t => {
  const { timers } = scene()
  timers.every('sweep', 1, () => {})
  t.throws(() => timers.every('sweep', 2, () => {}), TypeError)
})

t.test(
  'a read that fails is repeated until it succeeds, and each reason is reported once',
  async t => {
    const failures: string[] = []
    let reads = 0
    const { look, close } = followChanges({
      runtime: systemRuntime,
      subscribe: () => () => {},
      read: async () => {
        if (++reads < 5) throw new Error(reads < 4 ? 'away' : 'damaged')
      },
      onFailure: ({ message }) => void failures.push(message),
      retryMs: 1,
    })
    await look()
    await waitUntil('the read succeeds', () => reads === 5)
    t.strictSame([reads, failures], [5, ['away', 'damaged']])
    await close()
    await look()
    t.equal(reads, 5, 'nothing is read after it is closed')
  },
)

t.test('a read that fails is not repeated after its listener is closed', async t => {
  let reads = 0
  let subscribed: (() => void) | undefined
  const { close } = followChanges({
    runtime: systemRuntime,
    subscribe: listener => {
      subscribed = listener
      return () => {
        subscribed = undefined
      }
    },
    read: async () => {
      reads++
      throw new Error('away')
    },
    onFailure: () => {},
    retryMs: 0,
  })
  subscribed?.()
  await close()
  await turn()
  t.strictSame([reads, subscribed], [1, undefined])
})

t.test('each part receives the results of earlier parts, and views are merged', async t => {
  const views = { now: () => 1 }
  const opened = await openAll({ views, base: 1 }, [
    ({ base }: { base: number }) => ({ first: base + 1, views: { one: 'one' } }),
    async ({ first }: { first: number }) => ({ second: first + 1, views: { two: 'two' } }),
  ])
  t.match(opened, { base: 1, first: 2, second: 3, views: { one: 'one', two: 'two' } })
  t.equal(opened.views, views as unknown, 'a part may hold the views before they are complete')
})
