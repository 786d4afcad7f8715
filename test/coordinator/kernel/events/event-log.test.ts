import { join } from 'node:path'
import t, { type Test } from 'tap'
import { EventLog } from '../../../../coordinator/kernel/events/event-log.ts'
import { insertEvents } from '../../../../coordinator/kernel/events/event-rows.ts'
import { openEventStream } from '../../../../coordinator/kernel/events/event-stream.ts'
import { pruneEvents } from '../../../../coordinator/kernel/events/prune-events.ts'
import type { StorePlace } from '../../../../coordinator/kernel/store/place.ts'
import { restartSequence } from '../../../../coordinator/kernel/store/sequences.ts'
import { openStore, type StoreOptions } from '../../../../coordinator/kernel/store/store.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { silent } from '../../../support/cell.ts'
import { createStoreDatabase, postgresMissing } from '../../../support/postgres.ts'
import { TcpProxy } from '../../../support/tcp-proxy.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { temporaryFolder } from '../store/temporary.ts'

interface LogOptions {
  name?: string
  kept?: number
  store?: StoreOptions
}

/** The log of one coordinator, with everything that its listeners heard. */
const openLog = async (t: Test, place: StorePlace, options: LogOptions = {}) => {
  const store = await openStore(place, { pollMilliseconds: 0, ...options.store })
  const { name = 'a', kept = 100 } = options
  const failures: unknown[] = []
  const log = await EventLog.open({
    runtime: systemRuntime,
    store,
    source: `/shoal/${name}`,
    kept,
    logger: { warn: (fields: unknown) => failures.push(fields) },
    now: Date.now,
    retryMs: 1,
  })
  const heard: string[] = []
  log.subscribe('', ({ id, type }) => heard.push(`${id} ${type}`))
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= log.close().then(() => store.close())
    return closing
  }
  t.teardown(close)
  const waitFor = (count: number) => waitUntil('events', () => heard.length >= count)
  return { store, log, heard, failures, waitFor, close }
}

/** What a stream needs that collects what it sends to an operator. */
const reading = (written: string[]) => ({
  outlet: {
    write: (text: string) => written.push(text) > 0,
    waitForDrain: async () => true,
    end: () => {},
  },
  hearer: () => ({ tenantId: 'one', operator: true, sees: () => true }),
  patterns: [] as string[],
  lastEventId: undefined as string | undefined,
  source: '/shoal/b',
  now: Date.now,
  runtime: systemRuntime,
})

const typesOf = (written: string[]) =>
  written.flatMap(text => /"type":"([^"]+)"/.exec(text)?.[1] ?? [])

const places: [string, string | false, (t: Test) => Promise<StorePlace>][] = [
  ['SQLite', false, temporaryFolder],
  ['PostgreSQL', postgresMissing, createStoreDatabase],
]

for (const [engine, skip, placeFor] of places)
  t.test(`events on ${engine}`, { skip }, async t => {
    t.test('are CloudEvents that are numbered in the order of the calls', async t => {
      const { log, heard, waitFor } = await openLog(t, await placeFor(t))
      log.publish('shoal.cell.ready', { a: 1, b: undefined }, 'cell_1')
      for (let n = 0; n < 200; n++) log.publish(`shoal.x.${n}`, null)
      await waitFor(201)
      t.strictSame(
        heard.slice(1).map(each => each.split(' ')[1]),
        Array.from({ length: 200 }, (_, n) => `shoal.x.${n}`),
      )
      t.match(log.read(0).missed, true, 'only the newest are in memory')
      const [first] = log.read(log.positionAfter('150') ?? -1).events
      t.match(first, { specversion: '1.0', id: '151', source: '/shoal/a', time: /^20.*Z$/ })
      t.notOk('subject' in (first ?? {}))
    })

    t.test('of a transaction exist exactly if it is committed', async t => {
      const { store, log, heard, waitFor } = await openLog(t, await placeFor(t))
      const add = (type: string, fails = false) =>
        store.ledger.sealed.write(async trx => {
          await log.addWithin(trx, [{ type, data: null }])
          if (fails) throw new RangeError('no')
        })
      await Promise.allSettled([add('shoal.a'), add('shoal.b', true), add('shoal.c')])
      await waitFor(2)
      t.strictSame(heard, ['1 shoal.a', '2 shoal.c'], 'the number is given back')
    })

    t.test('are known after a restart, and an id that is too old is not', async t => {
      const place = await placeFor(t)
      const before = await openLog(t, place, { kept: 10 })
      for (let n = 1; n <= 30; n++) before.log.publish(`shoal.x.${n}`, null)
      await before.close()
      const { log, store } = await openLog(t, place, { kept: 10 })
      t.equal(log.position(), 30)
      t.strictSame(
        log.read(log.positionAfter('28') ?? -1).events.map(({ type }) => type),
        ['shoal.x.29', 'shoal.x.30'],
      )
      t.equal(log.positionAfter('19'), undefined)
      await pruneEvents(store.ledger, 10)
      const count = () => store.ledger.read.selectFrom('events').select('seq').execute()
      t.equal((await count()).length, 10)
      await store.ledger.free.write(trx =>
        trx.insertInto('event_cursors').values({ name: 'x', seq: 25 }).execute(),
      )
      await pruneEvents(store.ledger, 2)
      t.equal((await count()).length, 5, 'what a cursor has not reached is kept')
    })

    t.test('wait for a store that cannot be written, and none is lost or twice', async t => {
      let failures = 3
      const failing: NonNullable<StoreOptions['hooks']>['ledger'] = [
        async (work, commit) => {
          const result = await commit(async trx => {
            const done = await work(trx)
            if (failures-- > 0) throw new Error('the disk is full')
            return done
          })
          return result
        },
      ]
      const place = await placeFor(t)
      const { log, heard, waitFor } = await openLog(t, place, {
        store: { hooks: { ledger: failing } },
      })
      log.publish('shoal.a', null)
      log.publish('shoal.b', null)
      await waitFor(2)
      t.strictSame(heard, ['1 shoal.a', '2 shoal.b'])
    })
  })

t.test(
  'an event whose commit was not confirmed is stored once',
  { skip: postgresMissing },
  async t => {
    const database = await createStoreDatabase(t)
    const proxy = await TcpProxy.open(t, { path: join(database.host, '.s.PGSQL.5432') })
    const place = { ...database, host: '127.0.0.1', port: proxy.port, ssl: false }
    const { log, heard, waitFor, failures } = await openLog(t, place)
    proxy.loseAnswerTo('commit\0')
    log.publish('shoal.a', null)
    await waitFor(1)
    log.publish('shoal.b', null)
    await waitFor(2)
    t.match(failures, [{ err: { cause: { kind: 'uncertain' } } }])
    t.strictSame(heard, ['1 shoal.a', '2 shoal.b'])
  },
)

t.test('a reader hears what a fail-over has put in place of lost events', async t => {
  for (const [reused, newest] of [
    [2, 'the numbers are not all given again'],
    [6, 'as many events came as were known'],
  ] as const)
    await t.test(newest, async t => {
      const place = await temporaryFolder(t)
      const { store, log, heard, waitFor } = await openLog(t, place)
      const written: string[] = []
      for (let n = 1; n <= 10; n++) log.publish('shoal.cell.old', null)
      await waitFor(10)
      const stream = openEventStream({ ...reading(written), events: log, lastEventId: '8' })
      t.teardown(() => stream.close())
      await waitUntil('the stream', () => typesOf(written).length === 2)
      await store.ledger.sealed.write(async trx => {
        await trx.deleteFrom('events').where('seq', '>', 6).execute()
        await restartSequence(trx, 'events', 6)
        const at = 1
        const row = { type: 'shoal.cell.new', source: '/shoal/b', subject: null, data_json: 'null' }
        await insertEvents(
          trx,
          Array.from({ length: reused }, () => ({ ...row, at })),
        )
      })
      await log.catchUp()
      const fresh = Array.from({ length: reused }, (_, n) => `${n + 7} shoal.cell.new`)
      t.strictSame(heard.slice(10), fresh)
      await waitUntil('the stream', () => typesOf(written).length >= 3 + reused)
      t.strictSame(typesOf(written).slice(2), [
        'shoal.events.gap',
        ...fresh.map(() => 'shoal.cell.new'),
      ])
      t.match(written.join(''), /id: 6\ndata: .*"after":"10","reason":"lost"/)
      t.equal(log.positionAfter('4'), 4, 'what is left is still known')
    })
})

t.test('readers are told of events that were dropped', async t => {
  let isAway = true
  const hook: NonNullable<NonNullable<StoreOptions['hooks']>['ledger']>[number] = (work, commit) =>
    isAway ? Promise.reject(new Error('the disk is full')) : commit(work)
  const { log, heard } = await openLog(t, await temporaryFolder(t), {
    store: { hooks: { ledger: [hook] } },
  })
  const written: string[] = []
  const stream = openEventStream({
    ...reading(written),
    events: log,
    patterns: ['shoal.gate.*'],
    hearer: () => ({ tenantId: 'one', operator: false, sees: () => false }),
  })
  t.teardown(() => stream.close())
  for (let n = 1; n <= 10_003; n++) log.publish(`shoal.cell.${n}`, null)
  isAway = false
  await waitUntil('the events', () => heard.length === 10_001)
  t.strictSame(heard.slice(0, 2), ['1 shoal.events.gap', '2 shoal.cell.4'])
  t.strictSame(typesOf(written), ['shoal.events.gap'], 'whatever they want and may hear')
})

t.test('several coordinators', { skip: postgresMissing }, async t => {
  t.test('hear the same events in the same order', async t => {
    const place = await createStoreDatabase(t)
    const logs = await Promise.all(['a', 'b', 'c'].map(name => openLog(t, place, { name })))
    for (let n = 0; n < 100; n++)
      for (const [i, { log }] of logs.entries()) log.publish(`shoal.x.${i}-${n}`, null)
    await waitUntil('all events', async () => {
      for (const { store } of logs) await store.revisions.poll()
      return logs.every(({ heard }) => heard.length >= 300)
    })
    const [a, b, c] = logs.map(({ heard }) => heard)
    t.strictSame(
      a?.map(each => Number(each.split(' ')[0])),
      Array.from({ length: 300 }, (_, i) => i + 1),
    )
    t.strictSame(b, a)
    t.strictSame(c, a)
  })

  t.test('hear an event although the first read after its notice fails', async t => {
    const place = await createStoreDatabase(t)
    const writer = await openLog(t, place)
    const { store } = await openLog(t, place)
    let reads = 0
    const ledger = {
      ...store.ledger,
      get read() {
        if (++reads === 2) throw new Error('the connection was lost')
        return store.ledger.read
      },
    }
    const { revisions } = store
    const parts = { source: 'b', kept: 9, logger: silent, now: Date.now, retryMs: 1 }
    const log = await EventLog.open({
      runtime: systemRuntime,
      ...parts,
      store: { ledger, revisions },
    })
    t.teardown(() => log.close())
    writer.log.publish('shoal.x', null)
    await writer.waitFor(1)
    await revisions.poll()
    await waitUntil('the event is read', () => log.position() === 1)
    t.equal(reads, 3)
  })

  t.test('resume a stream of one another, ahead of their own poll', async t => {
    const place = await createStoreDatabase(t)
    const a = await openLog(t, place, { name: 'a' })
    const b = await openLog(t, place, { name: 'b' })
    for (const type of ['shoal.cell.one', 'shoal.cell.two', 'shoal.cell.three'])
      a.log.publish(type, null)
    await a.waitFor(3)
    t.equal(b.log.position(), 0)
    const resume = async (lastEventId: string) => {
      const written: string[] = []
      const stream = openEventStream({ ...reading(written), events: b.log, lastEventId })
      t.teardown(() => stream.close())
      await waitUntil('the stream', () => written.join('').includes('shoal.cell.three'))
      return typesOf(written)
    }
    t.strictSame(await resume('2'), ['shoal.cell.three'])
    t.equal((await resume('9'))[0], 'shoal.events.gap', 'an id that no event has')
  })
})
