import t from 'tap'
import type { CellLink } from '../../../../coordinator/fleet/cells/cell-link.ts'
import {
  claim,
  isFull,
  noteEngineRefusal,
  noteRoom,
  release,
} from '../../../../coordinator/fleet/routing/engine.ts'
import { type CellEngine, Router } from '../../../../coordinator/fleet/routing/router.ts'
import { createTrails, trailOf } from '../../../../coordinator/fleet/routing/trails.ts'

const HALF_LIFE_MS = 60_000

const engine = (cellId: string, inFlight = 0, slots = 4, others = 0, ready = true): CellEngine => ({
  cellId,
  link: {} as CellLink,
  slots,
  inFlight,
  others,
  ready,
})

const createModelMap = (engine: CellEngine, ...models: string[]) =>
  new Map(models.map(id => [id, engine]))

t.test('the router', async t => {
  t.test('finds no cell for a model that no cell serves', async t => {
    t.equal(new Router().pick('m'), undefined)
  })

  t.test('picks the less loaded of two by slots, requests and loaded models', async t => {
    for (const [busy, idle] of [
      [engine('busy', 3), engine('idle', 1)],
      [engine('busy', 4, 4), engine('idle', 6, 16)],
      [engine('busy', 0, 4, 3), engine('idle', 2, 4, 0)],
      [engine('busy', 0, 4, 0, false), engine('idle', 9, 4, 0)],
    ] as const) {
      const draws = [0, 0.9]
      const router = new Router(() => draws.pop() ?? 0)
      router.update('busy', createModelMap(busy, 'm'))
      router.update('idle', createModelMap(idle, 'm'))
      t.equal(router.pick('m')?.cellId, 'idle')
    }
  })

  t.test(
    'picks the least loaded untried cell after a failure, and none when all were tried',
    async t => {
      const router = new Router()
      for (const [id, load] of [
        ['a', 0],
        ['b', 2],
        ['c', 1],
      ] as const)
        router.update(id, createModelMap(engine(id, load), 'm'))
      t.equal(router.pick('m', new Set(['a']))?.cellId, 'c')
      t.equal(router.pick('m', new Set(['a', 'c']))?.cellId, 'b')
      t.equal(router.pick('m', new Set(['a', 'b', 'c'])), undefined)
    },
  )

  t.test('forgets a model that a cell no longer serves and keeps the others', async t => {
    const router = new Router()
    const one = engine('a')
    router.update('a', createModelMap(one, 'm', 'n'))
    router.update('b', createModelMap(engine('b'), 'm'))
    router.update('a', createModelMap(one, 'n'))
    t.equal(router.count('m'), 1)
    t.equal(router.pick('m')?.cellId, 'b')
    t.equal(router.pick('n')?.cellId, 'a')
    router.update('b', new Map())
    t.equal(router.pick('m'), undefined)
  })

  t.test('distributes requests over ten thousand equal cells', async t => {
    const router = new Router()
    for (let i = 0; i < 10_000; i++) router.update(`c${i}`, createModelMap(engine(`c${i}`), 'm'))
    const seen = new Set(Array.from({ length: 1000 }, () => router.pick('m')?.cellId))
    t.ok(seen.size > 800, `${seen.size} different cells in 1000 picks`)
  })

  t.test('skips a cell that has its maximum of requests or reported that it is full', async t => {
    let nowMs = 0
    const router = new Router(Math.random, () => nowMs)
    const [a, b] = [engine('a', 0, 1), engine('b', 0, 1)]
    for (const each of [a, b]) {
      each.queue = 1
      router.update(each.cellId, createModelMap(each, 'm'))
    }
    claim(a, 0)
    claim(a, 0)
    const picks = Array.from({ length: 20 }, () => router.pick('m')?.cellId)
    t.strictSame([...new Set(picks)], ['b'])
    b.fullUntilMs = 500
    t.equal(router.pick('m'), undefined)
    nowMs = 500
    t.equal(router.pick('m')?.cellId, 'b')
    release(a)
    t.ok(router.pick('m', new Set(['b'])))
  })

  t.test('finds room among ten thousand mostly full cells', async t => {
    const router = new Router()
    for (let i = 0; i < 10_000; i++)
      router.update(`c${i}`, createModelMap(engine(`c${i}`, i % 3 === 0 ? 0 : 12), 'm'))
    const picks = Array.from({ length: 200 }, () => router.pick('m')?.inFlight)
    t.strictSame([...new Set(picks)], [0])
  })
})

t.test('skips a refusing cell for twice as long each time, up to 2 s', async t => {
  const cell = engine('a')
  const pauses = [100, 200, 400, 800, 1600, 2000, 2000]
  for (const pause of pauses) {
    noteEngineRefusal(cell, 0)
    t.ok(isFull(cell, pause - 1))
    t.notOk(isFull(cell, pause))
  }
  noteRoom(cell)
  t.notOk(isFull(cell, 0))
  noteEngineRefusal(cell, 0)
  t.notOk(isFull(cell, 100))
})

t.test('prefix affinity', async t => {
  const fleet = (cells: number, slots = 8) => {
    const router = new Router(Math.random, () => 0)
    const engines = Array.from({ length: cells }, (_, i) => engine(`c${i}`, 0, slots))
    for (const each of engines) router.update(each.cellId, createModelMap(each, 'm'))
    return { router, engines }
  }

  t.test('routes the same beginning back to the same cell', async t => {
    const { router } = fleet(50)
    for (const affinity of [1, 2 ** 31, 2 ** 32 - 1]) {
      const home = router.pick('m', undefined, { affinity })
      for (let i = 0; i < 20; i++) t.equal(router.pick('m', undefined, { affinity }), home)
    }
  })

  t.test('moves to the next cell above a quarter more than the mean load', async t => {
    const { router, engines } = fleet(4, 64)
    for (let i = 0; i < 80; i++)
      claim(router.pick('m', undefined, { affinity: 7 }) as CellEngine, 0)
    const loads = engines.map(each => each.inFlight)
    t.ok(Math.max(...loads) <= Math.ceil((1.25 * 80) / 4), `loads ${loads.join(' ')}`)
    t.equal(loads.filter(load => load > 0).length, 4)
  })

  t.test('picks another cell when its own was tried, is not loaded or has left', async t => {
    const { router, engines } = fleet(5)
    const affinity = 99
    const home = router.pick('m', undefined, { affinity }) as CellEngine
    t.not(router.pick('m', new Set([home.cellId]), { affinity }), home)
    home.ready = false
    const second = router.pick('m', undefined, { affinity }) as CellEngine
    t.not(second, home)
    home.ready = true
    t.equal(router.pick('m', undefined, { affinity }), home)
    router.update(home.cellId, new Map())
    t.equal(router.pick('m', undefined, { affinity }), second)
    for (const each of engines) each.fullUntilMs = 1
    t.equal(router.pick('m', undefined, { affinity }), undefined)
  })
})

t.test('trails', async t => {
  const rig = () => {
    const clock = { ms: 0 }
    const trails = createTrails(() => clock.ms)
    const router = new Router(Math.random, () => clock.ms)
    const [fast, slow] = [engine('fast'), engine('slow')]
    for (const each of [fast, slow]) router.update(each.cellId, createModelMap(each, 'm'))
    const answers = (count: number) => {
      for (let i = 0; i < count; i++) {
        trails.deposit(fast, 'm', { durationMs: 100, tokens: 10 })
        trails.deposit(slow, 'm', { durationMs: 400, tokens: 10 })
      }
    }
    return { clock, trails, router, fast, slow, answers }
  }

  t.test('grow more by fast answers than by slow ones, and never above 1', async t => {
    const { fast, slow, answers } = rig()
    answers(500)
    const [strong, weak] = [trailOf(fast, 0), trailOf(slow, 0)]
    t.ok(strong > 0.5 && strong <= 1, `fast ${strong}`)
    t.ok(weak < strong, `slow ${weak}`)
  })

  t.test('decay by half in their half-life, and are removed by failures', async t => {
    const { fast, trails, answers } = rig()
    answers(100)
    const level = trailOf(fast, 0)
    t.equal(trailOf(fast, HALF_LIFE_MS), level / 2)
    trails.clear(fast)
    t.equal(trailOf(fast, 0), level / 2)
  })

  t.test('attract requests among cells of similar load, and leave no cell without any', async t => {
    const { router, answers } = rig()
    answers(500)
    const picks = Array.from({ length: 2000 }, () => router.pick('m')?.cellId)
    const share = picks.filter(cellId => cellId === 'fast').length / picks.length
    t.ok(share > 0.7 && share < 0.95, `${share} of the picks`)
  })

  t.test('weigh less than the load', async t => {
    const { router, fast, answers } = rig()
    answers(500)
    for (let i = 0; i < 4; i++) claim(fast, 0)
    const picks = Array.from({ length: 200 }, () => router.pick('m')?.cellId)
    t.notOk(picks.includes('fast'))
  })
})

t.test('the dedicated cells of a tenant', async t => {
  const rig = (exclusive: boolean) => {
    const router = new Router()
    const [own, shared] = [engine('own', 0, 1), engine('shared', 0, 1)]
    for (const each of [own, shared]) router.update(each.cellId, createModelMap(each, 'm'))
    router.assign(new Map([['own', { tenantId: 'acme', exclusive }]]))
    const cellFor = (tenantId: string | undefined) =>
      router.pick('m', undefined, { tenantId })?.cellId
    return { router, own, shared, cellFor }
  }

  t.test('serve it first and no other tenant', async t => {
    const { cellFor, router } = rig(false)
    for (let i = 0; i < 20; i++) {
      t.equal(cellFor('acme'), 'own')
      t.equal(cellFor('other'), 'shared')
      t.equal(cellFor(undefined), 'shared')
    }
    t.equal(router.count('m'), 2)
  })

  t.test('leave other requests to shared cells, unless they are exclusive', async t => {
    for (const [exclusive, overflow] of [
      [false, 'shared'],
      [true, undefined],
    ] as const) {
      const { cellFor, own, router } = rig(exclusive)
      own.fullUntilMs = Number.POSITIVE_INFINITY
      t.equal(cellFor('acme'), overflow, 'when full')
      router.update('own', new Map())
      t.equal(cellFor('acme'), overflow, 'when away')
    }
  })

  t.test('are shared again when the dedication ends, even while disconnected', async t => {
    const { cellFor, router, own } = rig(true)
    router.update('own', new Map())
    router.assign(new Map())
    t.equal(cellFor('acme'), 'shared')
    router.update('own', createModelMap(own, 'm'))
    router.update('shared', new Map())
    t.equal(cellFor('other'), 'own')
  })

  t.test('may be used by their tenant, and shared ones by all without exclusive ones', async t => {
    for (const exclusive of [false, true]) {
      const { router } = rig(exclusive)
      t.equal(router.mayUse('own', 'acme'), true)
      t.equal(router.mayUse('own', 'other'), false)
      t.equal(router.mayUse('shared', 'acme'), !exclusive)
      t.equal(router.mayUse('shared', undefined), true)
    }
  })
})
