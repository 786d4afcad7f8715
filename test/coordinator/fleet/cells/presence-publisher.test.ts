import t, { type Test } from 'tap'
import { combinePresence } from '../../../../coordinator/fleet/cells/combined-presence.ts'
import type { Presence } from '../../../../coordinator/fleet/cells/presence.ts'
import { PresencePublisher } from '../../../../coordinator/fleet/cells/presence-publisher.ts'
import { PublishedPresence } from '../../../../coordinator/fleet/cells/published-presence.ts'
import { Listeners } from '../../../../coordinator/kernel/base/listeners.ts'
import { EventLog } from '../../../../coordinator/kernel/events/event-log.ts'
import type { StorePlace } from '../../../../coordinator/kernel/store/place.ts'
import { openStore } from '../../../../coordinator/kernel/store/store.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { silent } from '../../../support/cell.ts'
import { createStoreDatabase, postgresMissing } from '../../../support/postgres.ts'
import { temporaryFolder } from '../../kernel/store/temporary.ts'

/** The coordinators that live, which a test changes. */
class Registry {
  readonly #listeners = new Listeners<[]>()
  #ids: string[] = []

  set(...ids: string[]): void {
    this.#ids = ids
    this.#listeners.notify()
  }

  of(id: string) {
    const describe = (each: string) => ({
      id: each,
      name: undefined,
      address: undefined,
      version: '',
      startedAt: 0,
    })
    return { id, live: () => this.#ids.map(describe), onChange: this.#listeners.add }
  }
}

const openReplica = async (t: Test, place: StorePlace, registry: Registry, id: string) => {
  const store = await openStore(place, { pollMilliseconds: 0 })
  const events = await EventLog.open({
    runtime: systemRuntime,
    store,
    source: `/shoal/${id}`,
    kept: 1000,
    logger: silent,
    now: Date.now,
  })
  const told = await PublishedPresence.open(store.ledger, events)
  const cells = new Map<string, Presence>()
  const clock = { ms: 0 }
  const publisher = new PresencePublisher({
    runtime: systemRuntime,
    ledger: store.ledger,
    replicas: registry.of(id),
    events,
    cells: function* () {
      for (const [cellId, presence] of cells) yield { id: cellId, presence }
    },
    logger: silent,
    now: Date.now,
    nowMs: () => clock.ms,
  })
  const see = async (presence: Presence, ...cellIds: string[]) => {
    for (const cellId of cellIds) {
      cells.set(cellId, presence)
      publisher.note(cellId, presence)
    }
    await publisher.waitForWrites()
  }
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= (async () => {
      await publisher.close()
      await events.close()
      await store.close()
    })()
    return closing
  }
  t.teardown(close)
  const listTold = async () => {
    await events.catchUp()
    return events
      .read(0)
      .events.map(({ type, subject, data }) =>
        [subject, (data as { from: string }).from, type.slice('shoal.cell.'.length)].join(' '),
      )
  }
  return { store, publisher, told, clock, see, listTold, close }
}

const places: [string, string | false, (t: Test) => Promise<StorePlace>][] = [
  ['SQLite', false, temporaryFolder],
  ['PostgreSQL', postgresMissing, createStoreDatabase],
]

for (const [engine, skip, placeFor] of places)
  t.test(`the presence of cells on ${engine}`, { skip }, async t => {
    const scene = async (t: Test, ...ids: string[]) => {
      const place = await placeFor(t)
      const registry = new Registry()
      registry.set(...ids)
      const open = (id: string) => openReplica(t, place, registry, id)
      const [a, b] = await Promise.all([open('a'), open('b')])
      return { registry, open, a, b }
    }

    t.test('is told once, whoever sees a change first', async t => {
      const { a, b } = await scene(t, 'a', 'b')
      await Promise.all([a.see('ready', 'x', 'y'), b.see('ready', 'x', 'y')])
      await b.see('degraded', 'x')
      await Promise.all([a.see('degraded', 'x'), b.see('degraded', 'x')])
      t.strictSame(await a.listTold(), ['x unknown ready', 'y unknown ready', 'x ready degraded'])
      t.strictSame(await b.listTold(), await a.listTold())
      t.equal(b.told.of('x'), 'degraded')
    })

    t.test('is not dead for a coordinator that lost a cell which another has', async t => {
      const { a, b } = await scene(t, 'a', 'b')
      await Promise.all([a.see('ready', 'x'), b.see('ready', 'x')])
      await a.see('dead', 'x')
      t.strictSame(await a.listTold(), ['x unknown ready'])
      await b.see('dead', 'x')
      t.strictSame(await b.listTold(), ['x unknown ready', 'x ready dead'])
    })

    t.test('is judged again when a coordinator that saw a cell has gone', async t => {
      const { registry, a, b } = await scene(t, 'a', 'b')
      await b.see('ready', 'x')
      await a.see('dead', 'x')
      await b.close()
      registry.set('a')
      await a.publisher.reconcile()
      await a.publisher.waitForWrites()
      t.strictSame(await a.listTold(), ['x unknown ready', 'x ready dead'])
      await a.publisher.sweep(a.store.ledger)
      const rows = await a.store.ledger.read.selectFrom('cell_views').selectAll().execute()
      t.strictSame(rows, [{ cell_id: 'x', replica_id: 'a', presence: 'dead' }])
    })

    t.test('is not news after a restart, except of a cell that does not come back', async t => {
      const { registry, open, a, b } = await scene(t, 'a', 'b')
      await a.see('ready', 'x', 'y', 'z')
      await a.see('stopped', 'z')
      await Promise.all([a.close(), b.close()])
      registry.set('c')
      const c = await open('c')
      t.equal(c.told.of('x'), 'ready')
      await c.publisher.reconcile()
      await c.see('ready', 'x')
      await c.publisher.sweep(c.store.ledger)
      c.clock.ms = 89_999
      await c.publisher.sweep(c.store.ledger)
      await c.publisher.waitForWrites()
      t.equal((await c.listTold()).length, 4)
      c.clock.ms = 90_000
      await c.publisher.sweep(c.store.ledger)
      await c.publisher.waitForWrites()
      t.strictSame((await c.listTold()).slice(4), ['y ready dead'], 'z was stopped before')
    })

    t.test('ends with the cell, and its view is written again where it is missing', async t => {
      const { a, b } = await scene(t, 'a', 'b')
      await a.see('ready', 'x', 'y')
      a.publisher.forget('x')
      await a.publisher.waitForWrites()
      await a.see('ready', 'x')
      t.strictSame((await a.listTold()).slice(2), ['x unknown ready'])
      await b.store.ledger.free.write(trx => trx.deleteFrom('cell_views').execute())
      await a.publisher.reconcile()
      await a.publisher.waitForWrites()
      const rows = await a.store.ledger.read.selectFrom('cell_views').selectAll().execute()
      t.equal(rows.length, 2)
      t.equal((await a.listTold()).length, 3)
    })

    t.test('of a thousand cells at once is told for each of them', async t => {
      const { a, b } = await scene(t, 'a', 'b')
      const ids = Array.from({ length: 1000 }, (_, i) => `cell-${i}`)
      await Promise.all([a.see('ready', ...ids), b.see('ready', ...ids)])
      const told = await a.listTold()
      t.equal(told.length, 1000)
      t.equal(new Set(told).size, 1000)
    })
  })

t.test('the presence of a cell is the best that a coordinator sees', t => {
  for (const [views, combined] of [
    [[], undefined],
    [['dead'], 'dead'],
    [['dead', 'suspect'], 'suspect'],
    [['dead', 'stopped'], 'stopped'],
    [['stopped', 'suspect'], 'suspect'],
    [['draining', 'suspect', 'dead'], 'draining'],
    [['degraded', 'draining'], 'degraded'],
    [['ready', 'degraded'], 'ready'],
  ] as const)
    t.equal(combinePresence(views), combined, views.join())
  t.end()
})
