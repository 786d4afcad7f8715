import t from 'tap'
import type { CellLink } from '../../../../coordinator/fleet/cells/cell-link.ts'
import { claim, release } from '../../../../coordinator/fleet/routing/engine.ts'
import { type CellEngine, Router } from '../../../../coordinator/fleet/routing/router.ts'
import { type Place, WaitQueue } from '../../../../coordinator/gateway/dispatch/wait-queue.ts'

/** A queue before one cell with one slot and no queue of its own, and a clock by hand. */
const rig = (length = 3) => {
  const clock = { ms: 0 }
  const timers = new Set<{ atMs: number; run: () => void }>()
  const callAfter = (milliseconds: number, run: () => void) => {
    const timer = { atMs: clock.ms + milliseconds, run }
    timers.add(timer)
    return () => timers.delete(timer)
  }
  const pass = (milliseconds: number): void => {
    const untilMs = clock.ms + milliseconds
    for (;;) {
      const [next] = [...timers].sort((a, b) => a.atMs - b.atMs)
      if (next === undefined || next.atMs > untilMs) break
      timers.delete(next)
      clock.ms = next.atMs
      next.run()
    }
    clock.ms = untilMs
  }
  const nowMs = () => clock.ms
  const router = new Router(Math.random, nowMs)
  const queue = new WaitQueue({
    limits: { length, maxWaitMs: 30_000, restartMs: 10_000 },
    router,
    nowMs,
    callAfter,
  })
  const cell: CellEngine = {
    cellId: 'a',
    link: {} as CellLink,
    slots: 1,
    queue: 0,
    inFlight: 0,
    others: 0,
    ready: true,
  }
  router.update('a', new Map([['m', cell]]))
  const enter = (keyId: string, tenantId?: string) =>
    queue.enter({ model: 'm', keyId, tenantId }) as Place
  const served: string[] = []
  const join = (name: string, keyId = name, tenantId?: string) => {
    const place = enter(keyId, tenantId)
    place.turn.then(
      engine => served.push(engine === undefined ? `${name} left` : name),
      error => served.push(`${name} ${error.code} ${error.retryAfterSeconds}`),
    )
    return place
  }
  /** One request leaves the cell; who had its turn then. */
  const leave = async (): Promise<string[]> => {
    release(cell)
    queue.offerPlace(cell)
    return takeServed()
  }
  const takeServed = async (): Promise<string[]> => {
    await new Promise(done => setImmediate(done))
    return served.splice(0)
  }
  return { queue, router, cell, timers, pass, enter, join, leave, takeServed }
}

t.test('a request that finds room does not wait and holds its place', async t => {
  const { enter, cell } = rig()
  t.equal(await enter('k').turn, cell)
  t.equal(cell.inFlight, 1)
})

t.test('a freed place wakes exactly one request, in order', async t => {
  const { cell, join, leave, takeServed } = rig()
  claim(cell, 0)
  for (const name of ['1', '2', '3']) join(name, 'k')
  t.strictSame(await takeServed(), [])
  t.strictSame(await leave(), ['1'])
  t.equal(cell.inFlight, 1)
  t.strictSame(await leave(), ['2'])
  t.strictSame(await leave(), ['3'])
  t.strictSame(await leave(), [])
  t.equal(cell.inFlight, 0)
})

t.test('keys take turns, however many requests each has', async t => {
  const { cell, join, leave } = rig(10)
  claim(cell, 0)
  for (const name of ['a1', 'a2', 'a3']) join(name, 'a')
  for (const name of ['b1', 'b2']) join(name, 'b')
  join('c1', 'c')
  const order: string[] = []
  for (let i = 0; i < 6; i++) order.push(...(await leave()))
  t.strictSame(order, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
})

t.test('a full queue refuses, but the key with most gives way to a key with none', async t => {
  const { cell, join, takeServed } = rig(3)
  claim(cell, 0)
  for (const name of ['a1', 'a2', 'a3', 'a4']) join(name, 'a')
  t.match(await takeServed(), [/^a4 cell_unavailable \d+$/])
  join('b1', 'b')
  t.match(await takeServed(), [/^a3 cell_unavailable \d+$/])
  join('b2', 'b')
  t.match(await takeServed(), [/^b2 cell_unavailable \d+$/])
})

t.test('a wait that exceeds its limit ends with 503 and Retry-After', async t => {
  const { cell, join, pass, takeServed, queue, timers } = rig()
  claim(cell, 0)
  join('1')
  pass(29_999)
  t.strictSame(await takeServed(), [])
  pass(1)
  t.strictSame(await takeServed(), ['1 cell_unavailable 30'])
  t.equal(queue.lengths().size, 0)
  t.equal(timers.size, 0)
})

t.test('a request that leaves is removed at once, and the next one is served', async t => {
  const { cell, join, leave, takeServed, queue, timers } = rig()
  claim(cell, 0)
  const first = join('1')
  join('2')
  first.leave()
  t.strictSame(await takeServed(), ['1 left'])
  t.equal(queue.lengths().get('m'), 1)
  t.strictSame(await leave(), ['2'])
  first.leave()
  t.equal(cell.inFlight, 1)
  t.equal(timers.size, 0, 'nothing runs when nobody waits')
})

t.test('a request does not wait for a model that is unknown or gone for long', async t => {
  const { queue, router, join, pass, takeServed } = rig()
  t.equal(queue.enter({ model: 'unknown', keyId: 'k' }), undefined)
  router.update('a', new Map())
  join('1')
  t.strictSame(await takeServed(), [])
  pass(10_000)
  t.equal(queue.enter({ model: 'm', keyId: 'k' }), undefined)
})

t.test('a request waits for a model that cells are about to serve, then is refused', async t => {
  const { queue, router, cell, pass, takeServed } = rig()
  const answered: string[] = []
  const enter = (tenantId?: string) => queue.enter({ model: 'new', keyId: 'k', tenantId })
  router.assign(new Map([['z', { tenantId: 'ten', exclusive: true }]]))
  t.equal(enter(), undefined)
  router.expect('new')
  t.strictSame([...router.listPools()].length, 1, 'an expectation makes no pools')
  const mine = enter('ten')
  mine?.turn.then(({ cellId } = cell) => answered.push(cellId))
  enter()?.turn.then(({ cellId } = cell) => answered.push(cellId))
  router.update(
    'a',
    new Map([
      ['m', cell],
      ['new', cell],
    ]),
  )
  pass(100)
  await takeServed()
  t.strictSame(answered, ['a'])
  router.update('z', new Map([['new', { ...cell, cellId: 'z', inFlight: 0, pools: [] }]]))
  pass(100)
  await takeServed()
  t.strictSame(answered, ['a', 'z'], 'an exclusive tenant waits for its own cell')
  router.expect('gone')
  router.forget('gone')
  t.equal(queue.enter({ model: 'gone', keyId: 'k', tenantId: 'ten' }), undefined)
  router.expect('other')
  pass(10_000)
  t.equal(queue.enter({ model: 'other', keyId: 'k' }), undefined)
})

t.test('an engine that returns serves as many requests as it has room for', async t => {
  const { queue, router, cell, join, takeServed } = rig()
  router.update('a', new Map())
  for (const name of ['1', '2', '3']) join(name)
  router.update('a', new Map([['m', cell]]))
  queue.offer(cell)
  t.strictSame(await takeServed(), ['1'])
  cell.queue = 1
  queue.offer(cell)
  t.strictSame(await takeServed(), ['2'])
})

t.test('a cell that others have filled is checked again automatically', async t => {
  const { cell, join, pass, takeServed } = rig()
  cell.fullUntilMs = 400
  join('1')
  pass(399)
  t.strictSame(await takeServed(), [])
  pass(101)
  t.strictSame(await takeServed(), ['1'])
})

t.test('one engine serves the queues of all its models, longest wait first', async t => {
  const { queue, router, cell, pass, takeServed } = rig()
  router.update('a', new Map(['m', 'n'].map(model => [model, cell])))
  claim(cell, 0)
  const done: string[] = []
  for (const model of ['n', 'm']) {
    queue.enter({ model, keyId: 'k' })?.turn.then(() => done.push(model))
    pass(10)
  }
  for (let i = 0; i < 2; i++) {
    release(cell)
    queue.offerPlace(cell)
    await takeServed()
  }
  t.strictSame(done, ['n', 'm'])
})

t.test('a dedicated cell wakes only requests of its tenant', async t => {
  const { router, cell, join, leave } = rig()
  claim(cell, 0)
  join('other', 'x', 'other')
  join('mine', 'y', 'acme')
  router.assign(new Map([['a', { tenantId: 'acme', exclusive: false }]]))
  t.strictSame(await leave(), ['mine'])
  t.strictSame(await leave(), [])
})

t.test('closing refuses all waiting requests', async t => {
  const { queue, cell, join, takeServed } = rig()
  claim(cell, 0)
  for (const name of ['1', '2']) join(name)
  queue.close()
  t.strictSame(await takeServed(), ['1 draining undefined', '2 draining undefined'])
})
