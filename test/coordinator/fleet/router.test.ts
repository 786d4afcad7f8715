import t from 'tap'
import type { CellLink } from '../../../coordinator/fleet/cell-link.ts'
import { createRouter, type Engine } from '../../../coordinator/fleet/router.ts'

const engine = (cellId: string, inFlight = 0, slots = 4, others = 0, ready = true): Engine => ({
  cellId,
  link: {} as CellLink,
  slots,
  inFlight,
  others,
  ready,
})

const serving = (engine: Engine, ...models: string[]) => new Map(models.map(id => [id, engine]))

t.test('the router', async t => {
  t.test('knows no cell for a model nobody serves', async t => {
    t.equal(createRouter().pick('m'), undefined)
  })

  t.test(
    'takes the less loaded of two, counting slots, requests and whether it is loaded',
    async t => {
      for (const [busy, idle] of [
        [engine('busy', 3), engine('idle', 1)],
        [engine('busy', 4, 4), engine('idle', 6, 16)],
        [engine('busy', 0, 4, 3), engine('idle', 2, 4, 0)],
        [engine('busy', 0, 4, 0, false), engine('idle', 9, 4, 0)],
      ] as const) {
        const draws = [0, 0.9]
        const router = createRouter(() => draws.pop() ?? 0)
        router.update('busy', serving(busy, 'm'))
        router.update('idle', serving(idle, 'm'))
        t.equal(router.pick('m')?.cellId, 'idle')
      }
    },
  )

  t.test(
    'after a failure takes the least loaded that was not tried, and none when all were',
    async t => {
      const router = createRouter()
      for (const [id, load] of [
        ['a', 0],
        ['b', 2],
        ['c', 1],
      ] as const)
        router.update(id, serving(engine(id, load), 'm'))
      t.equal(router.pick('m', new Set(['a']))?.cellId, 'c')
      t.equal(router.pick('m', new Set(['a', 'c']))?.cellId, 'b')
      t.equal(router.pick('m', new Set(['a', 'b', 'c'])), undefined)
    },
  )

  t.test('forgets a model that a cell no longer serves and keeps the others', async t => {
    const router = createRouter()
    const one = engine('a')
    router.update('a', serving(one, 'm', 'n'))
    router.update('b', serving(engine('b'), 'm'))
    router.update('a', serving(one, 'n'))
    t.equal(router.count('m'), 1)
    t.equal(router.pick('m')?.cellId, 'b')
    t.equal(router.pick('n')?.cellId, 'a')
    router.update('b', new Map())
    t.equal(router.pick('m'), undefined)
  })

  t.test('spreads over ten thousand equal cells', async t => {
    const router = createRouter()
    for (let i = 0; i < 10_000; i++) router.update(`c${i}`, serving(engine(`c${i}`), 'm'))
    const seen = new Set(Array.from({ length: 1000 }, () => router.pick('m')?.cellId))
    t.ok(seen.size > 800, `${seen.size} different cells in 1000 picks`)
  })
})
