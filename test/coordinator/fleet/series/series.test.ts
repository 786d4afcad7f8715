import fc from 'fast-check'
import t from 'tap'
import { METRIC_NAMES, metricsOf } from '../../../../coordinator/fleet/cells/metrics.ts'
import {
  type Bucket,
  bucketOf,
  decodeSegment,
  encodeSegment,
  mergeInto,
} from '../../../../coordinator/fleet/series/bucket.ts'
import { Series } from '../../../../coordinator/fleet/series/series.ts'
import { createSeriesStore } from '../../../../coordinator/fleet/series/series-store.ts'
import { StoreFault } from '../../../../coordinator/kernel/store/faults.ts'
import { recordMigrations } from '../../../../coordinator/kernel/store/record-migrations.ts'
import { sqliteEngine } from '../../../../coordinator/kernel/store/sqlite/sqlite-engine.ts'
import type { RecordTables } from '../../../../coordinator/kernel/store/tables.ts'
import type { Sample } from '../../../../shared/wire/telemetry.ts'
import { silent } from '../../../support/cell.ts'
import { notInFiles, temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'
import { engine, gpu, sampleOf } from './samples.ts'

const START = Date.UTC(2026, 10, 20)
const HOUR_MS = 3_600_000

const cpu = (takenAt: number, percent: number | null): Sample => {
  const sample = sampleOf(takenAt)
  return { ...sample, host: { ...sample.host, cpu_percent: percent } }
}

const set = async (t: Parameters<typeof temporaryStore>[0], folder?: string) => {
  const store = await temporaryStore(t, folder)
  const clock = { at: START }
  const rows = createSeriesStore(store.records)
  let writes = 0
  const counted = {
    ...rows,
    add: (...args: Parameters<typeof rows.add>) => {
      writes++
      return rows.add(...args)
    },
  }
  const open = () => new Series({ store: counted, logger: silent, now: () => clock.at })
  return { store, clock, open, writes: () => writes, series: open() }
}

t.test('metrics of a sample are unknown where the sample has no value', async t => {
  t.strictSame(
    Object.values(metricsOf(sampleOf(1))),
    METRIC_NAMES.map(() => null),
  )
  const metrics = metricsOf(
    sampleOf(1, {
      gpus: [
        gpu(40, { utilization_percent: 0, power_watts: 10 }),
        gpu(null, { index: 1, power_watts: 5 }),
        gpu(50, { index: 2, unified_memory: true, utilization_percent: 50 }),
        gpu(50, { index: 3, unified_memory: true }),
      ],
      engines: [engine(1), engine(4, { state: 'loading', queued: 7 })],
    }),
  )
  t.match(metrics, {
    gpu_percent: 25,
    vram_used_percent: 50,
    vram_used_bytes: 90,
    gpu_power_watts: 15,
    slots_busy_percent: 25,
    queued: 7,
    gpu_temperature_celsius: null,
  })
})

const value = fc.option(fc.integer({ min: 0, max: 1000 }), { nil: null })
const someBucket: fc.Arbitrary<Bucket> = fc
  .record({ values: fc.array(value, { minLength: 12, maxLength: 12 }) })
  .map(({ values }) =>
    bucketOf(Object.fromEntries(METRIC_NAMES.map((name, i) => [name, values[i] ?? null])) as never),
  )

const mergeBuckets = (buckets: Bucket[]): Bucket => {
  const [first, ...rest] = structuredClone(buckets)
  for (const bucket of rest) mergeInto(first as Bucket, bucket)
  return first as Bucket
}

t.test('samples yield the same bucket in any order, and it is stored unchanged', async () => {
  const some = fc.array(someBucket, { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(some, fc.integer({ min: 0, max: 8 }), (buckets, cut) => {
      const forward = mergeBuckets(buckets)
      const parts = [buckets.slice(cut), buckets.slice(0, cut)].filter(part => part.length > 0)
      const other = mergeBuckets(parts.map(part => mergeBuckets(part.toReversed())))
      const isClose = (a: number, b: number) =>
        Number.isNaN(a) ? Number.isNaN(b) : Math.abs(a - b) < 1e-6
      const equal =
        forward.samples === other.samples &&
        forward.values.every((one, i) => isClose(one, other.values[i] as number))
      const [, kept] = [...decodeSegment(encodeSegment(new Map([[0, forward]])))][0] ?? []
      const unchanged =
        kept?.known.every((known, i) => known === forward.known[i]) &&
        kept.values.every(
          (one, i) => Math.abs(one - (forward.values[i] as number)) <= 0.0005 || Number.isNaN(one),
        )
      return equal && unchanged === true
    }),
    { numRuns: 200 },
  )
})

t.test('series', async t => {
  t.test('are the mean or maximum of each span; unknown values stay unknown', async t => {
    const { series, clock } = await set(t)
    for (const [seconds, percent] of [
      [0, 10],
      [5, 30],
      [10, null],
      [25, 0],
    ] as const) {
      clock.at = START + seconds * 1000
      series.addLive('c', cpu(clock.at, percent), 0)
    }
    const expected = [
      { at: START, value: 20, samples: 2 },
      { at: START + 10_000, value: null, samples: 1 },
      { at: START + 20_000, value: 0, samples: 1 },
    ]
    t.strictSame(await series.points('c', 'cpu_percent', '10s'), expected)
    t.match(await series.points('c', 'cpu_percent', '1m'), [{ samples: 4 }])
    await series.flush()
    t.strictSame(await series.points('c', 'cpu_percent', '10s'), expected, 'also when written')
    t.strictSame(await series.points('other', 'cpu_percent', '10s'), [])
  })

  t.test('of many samples need few writes, and each row continues after a restart', async t => {
    const { series, clock, writes, store, open } = await set(t)
    for (let second = 0; second < 120; second++) {
      clock.at = START + second * 1000
      for (let cell = 0; cell < 20; cell++) series.addLive(`c${cell}`, cpu(clock.at, second), 0)
      await series.tick()
    }
    t.ok(writes() <= 4, `${writes()} writes for 2400 samples`)
    await series.flush()
    const after = await open()
    clock.at = START + 119_500
    after.addLive('c3', cpu(clock.at, 0), 0)
    await after.flush()
    const minutes = await after.points('c3', 'cpu_percent', '1m')
    t.match(
      minutes.map(point => point.samples),
      [60, 61],
    )
    const { rows } = await store.records.read
      .selectFrom('series')
      .select(({ fn }) => fn.countAll<number>().as('rows'))
      .executeTakeFirstOrThrow()
    t.equal(rows, 20 * 4)
  })

  t.test('count late samples once, even when they are sent again after a restart', async t => {
    const { series, clock, open } = await set(t)
    clock.at = START + 600_000
    const batch = [cpu(START, 10), cpu(START + 5000, 20), cpu(START + 60_000, 90)]
    series.addLive('c', cpu(clock.at, 50), 0)
    series.addLate('c', batch, 0)
    series.addLate('c', batch, 0)
    await series.flush()
    const after = await open()
    after.addLate('c', [...batch, cpu(START + 65_000, 70)], 0)
    t.strictSame(await after.points('c', 'cpu_percent', '1m'), [
      { at: START, value: 15, samples: 2 },
      { at: START + 60_000, value: 80, samples: 2 },
      { at: START + 600_000, value: 50, samples: 1 },
    ])
  })

  t.test('count late samples even after the clock of the cell was ahead', async t => {
    const { series, clock } = await set(t)
    const AHEAD = 365 * 24 * 3_600_000
    clock.at = START + 600_000
    series.addLate('c', [cpu(START + AHEAD, 10)], AHEAD)
    series.addLate('c', [cpu(START + AHEAD, 10)], AHEAD)
    series.addLate('c', [cpu(START + 60_000, 20)], 5)
    series.addLate('c', [cpu(START + 60_000, 20)], 5)
    t.strictSame(await series.points('c', 'cpu_percent', '1m'), [
      { at: START, value: 10, samples: 1 },
      { at: START + 60_000, value: 20, samples: 1 },
    ])
  })

  t.test('write late samples with the next tick', async t => {
    const { series, clock, writes } = await set(t)
    clock.at = START + 600_000
    series.addLate('c', [cpu(START, 10)], 0)
    await series.tick()
    t.equal(writes(), 1)
  })

  t.test('assign samples of a wrong clock correctly, and none to the future', async t => {
    const { series, clock } = await set(t)
    clock.at = START + 600_000
    series.addLive('ahead', cpu(clock.at + 3_600_000, 1), 3_600_000)
    series.addLate('behind', [cpu(5000, 2)], 10_000 - clock.at)
    series.addLive('liar', cpu(clock.at + 3_600_000, 1), 0)
    t.strictSame(await series.points('ahead', 'cpu_percent', '10s'), [
      { at: clock.at, value: 1, samples: 1 },
    ])
    t.strictSame(await series.points('behind', 'cpu_percent', '10s'), [
      { at: clock.at - 10_000, value: 2, samples: 1 },
    ])
    t.strictSame(await series.points('liar', 'cpu_percent', '10s'), [])
  })

  t.test('are kept for an hour, a day and a year, and old rows are deleted', async t => {
    const { series, clock, store } = await set(t)
    const HOUR = 3_600_000
    for (const ago of [0, 2 * HOUR, 30 * HOUR, 400 * 24 * HOUR]) {
      clock.at = START - ago
      series.addLive('c', cpu(clock.at, 1), 0)
    }
    clock.at = START
    await series.flush()
    const counts = async () => {
      const query = store.records.read.selectFrom('series').select('resolution_seconds')
      const rows = await query.orderBy('resolution_seconds').execute()
      return rows.map(row => row.resolution_seconds)
    }
    t.equal((await counts()).length, 12)
    for (const [resolution, points] of [
      ['10s', 1],
      ['1m', 2],
      ['1h', 3],
    ] as const)
      t.equal((await series.points('c', 'cpu_percent', resolution)).length, points, resolution)
    await series.tick()
    t.strictSame(await counts(), [10, 60, 60, 3600, 3600, 3600])
  })

  t.test('are written once by several coordinators, and are the same on each', async t => {
    const { store, clock } = await set(t)
    let owner = 'a'
    const [a, b] = ['a', 'b'].map(id => {
      const rows = createSeriesStore(store.records)
      const owns = () => owner === id
      return new Series({ store: rows, logger: silent, owns, now: () => clock.at })
    }) as [Series, Series]
    const hear = (percent: number) => {
      for (const each of [a, b]) each.addLive('c', cpu(clock.at, percent), 0)
    }
    const expected = [{ at: START, value: 30, samples: 3 }]
    const readBoth = () => Promise.all([a, b].map(each => each.points('c', 'cpu_percent', '1m')))
    hear(10)
    clock.at += 10_000
    hear(20)
    owner = 'b'
    clock.at += 10_000
    hear(60)
    t.strictSame(
      await a.points('c', 'cpu_percent', '10s'),
      await b.points('c', 'cpu_percent', '10s'),
    )
    clock.at += 1_900_000
    for (const each of [a, b]) await each.tick()
    clock.at += 10_000
    for (const each of [a, b]) await each.tick()
    t.strictSame(await readBoth(), [expected, expected])
  })

  t.test('count late samples once, though the home of the cell has changed', async t => {
    const { series, clock, open } = await set(t)
    clock.at = START + 600_000
    const batch = [0, 1, 2, 3].map(n => cpu(START + n * 1000, 10))
    series.addLate('c', batch.slice(0, 2), 0)
    await series.tick()
    const next = open()
    next.addLate('c', batch, 0)
    await next.tick()
    clock.at += 5000
    series.addLate('c', [...batch, cpu(START + 4000, 10)], 0)
    await series.tick()
    t.strictSame(await next.points('c', 'cpu_percent', '1m'), [
      { at: START, value: 10, samples: 5 },
    ])
  })

  t.test('keep every late sample while the store is away', async t => {
    const { store, clock } = await set(t)
    const rows = createSeriesStore(store.records)
    let isAway = true
    const readLateUntil: typeof rows.readLateUntil = cellIds =>
      isAway ? Promise.reject(new Error('away')) : rows.readLateUntil(cellIds)
    const series = new Series({
      store: { ...rows, readLateUntil },
      logger: silent,
      now: () => clock.at,
    })
    clock.at = START + 600_000
    for (let n = 0; n < 1500; n++) series.addLate(`c${n % 3}`, [cpu(START + n, 10)], 0)
    isAway = false
    const samplesOf = async (cellId: string) =>
      (await series.points(cellId, 'cpu_percent', '1m')).map(({ samples }) => samples)
    for (const cellId of ['c0', 'c1', 'c2']) t.strictSame(await samplesOf(cellId), [500])
  })

  t.test('count values once whose commit was not confirmed', async t => {
    const { store, clock } = await set(t)
    const rows = createSeriesStore(store.records)
    let isConfirmed = false
    const add: typeof rows.add = async (...args) => {
      await rows.add(...args)
      if (!isConfirmed) throw new StoreFault('uncertain', 'the connection ended', undefined)
    }
    const series = new Series({ store: { ...rows, add }, logger: silent, now: () => clock.at })
    series.addLive('c', cpu(clock.at, 10), 0)
    await series.flush()
    isConfirmed = true
    await series.flush()
    t.match(await series.points('c', 'cpu_percent', '1m'), [{ samples: 1 }])
  })

  t.test('of several cells lack nothing that is written while they are read', async t => {
    const { series } = await set(t)
    const ids = ['a', 'b', 'c']
    for (const id of ids) series.addLive(id, cpu(START, 7), 0)
    const found: unknown[] = []
    for await (const [, points] of series.pointsOfCells(ids, ['cpu_percent'], '1m')) {
      found.push(points.get('cpu_percent')?.map(({ value }) => value))
      await series.flush()
    }
    t.strictSame(found, [[7], [7], [7]])
  })

  t.test(
    'of a row that cannot be read begin again, and the others are read and written',
    async t => {
      const { store, series, clock, open } = await set(t)
      for (const id of ['a', 'b']) series.addLive(id, cpu(START, 10), 0)
      await series.flush()
      await store.records.free.write(trx =>
        trx.updateTable('series').set({ buckets_json: '{}' }).where('cell_id', '=', 'a').execute(),
      )
      t.strictSame(await open().points('a', 'cpu_percent', '1h'), [])
      clock.at += 60_000
      for (const id of ['a', 'b']) series.addLive(id, cpu(clock.at, 20), 0)
      await series.flush()
      t.match(await open().points('a', 'cpu_percent', '1h'), [{ samples: 1, value: 20 }])
      t.match(await open().points('b', 'cpu_percent', '1h'), [{ samples: 2, value: 15 }])
    },
  )

  t.test('survive a disk that fails for a while, within bounds', async t => {
    const { store, clock } = await set(t)
    const rows = createSeriesStore(store.records)
    let fails = true
    const add: typeof rows.add = (...args) =>
      fails ? Promise.reject(new Error('disk full')) : rows.add(...args)
    const parts = { store: { ...rows, add }, logger: silent, now: () => clock.at, maxPending: 30 }
    const series = new Series(parts)
    for (let cell = 0; cell < 20; cell++) series.addLive(`c${cell}`, cpu(clock.at, cell), 0)
    clock.at += 3_600_000
    await series.tick()
    fails = false
    await series.flush()
    const found = await Promise.all(
      Array.from({ length: 20 }, (_, cell) => series.points(`c${cell}`, 'cpu_percent', '1m')),
    )
    t.equal(found.filter(points => points.length > 0).length, 10)
    t.strictSame(
      found[19]?.map(point => point.value),
      [19],
    )
  })

  t.test('are all written, however many, while the disk takes them', async t => {
    const { store, clock } = await set(t)
    const rows = createSeriesStore(store.records)
    const parts = { store: rows, logger: silent, now: () => clock.at, maxPending: 30 }
    const series = new Series(parts)
    const cellIds = Array.from({ length: 20 }, (_, cell) => `c${cell}`)
    for (const cellId of cellIds) series.addLive(cellId, cpu(clock.at, 7), 0)
    clock.at += 3_600_000
    await series.tick()
    const found = await rows.read(cellIds, 60, 0)
    t.equal([...found.values()].filter(({ length }) => length > 0).length, 20)
  })
})

t.test('the energy of all cells is the sum of their hourly means', async t => {
  const powered = (takenAt: number, watts: number | null): Sample =>
    sampleOf(takenAt, { gpus: [gpu(10, { power_watts: watts })] })

  t.test('whether it is in memory, in the store, or late', async t => {
    const { series, clock } = await set(t)
    series.addLive('a', powered(START, 100), 0)
    series.addLive('a', powered(START + 1000, 200), 0)
    series.addLive('b', powered(START, 50), 0)
    series.addLive('c', powered(START, null), 0)
    const first = { wattHours: 200, cellHours: 2 }
    t.strictSame(await series.energy(START), first)
    await series.flush()
    t.strictSame(await series.energy(START), first)

    clock.at += 2 * HOUR_MS
    series.addLive('a', powered(clock.at, 10), 0)
    series.addLate('b', [powered(START + 2000, 150)], 0)
    await series.flush()
    t.strictSame(await series.energy(START), { wattHours: 150 + 100 + 10, cellHours: 3 })
    t.strictSame(await series.energy(START + HOUR_MS), { wattHours: 10, cellHours: 1 })
  })

  t.test('of series from before the sums were kept, too', { skip: notInFiles }, async t => {
    const folder = await temporaryFolder(t)
    const { power_hours: _, ...tables } = {} as RecordTables
    const old = await sqliteEngine(folder).open<typeof tables>({
      name: 'records',
      survives: 'process_end',
      migrations: Object.fromEntries(
        Object.entries(recordMigrations).filter(([name]) => name < '0014'),
      ),
    })
    const bucket = (watts: number | null) =>
      bucketOf({ ...metricsOf(sampleOf(1)), gpu_power_watts: watts })
    const hours = new Map([
      [START, bucket(70)],
      [START + HOUR_MS, bucket(null)],
    ])
    const row = { cell_id: 'a', resolution_seconds: 3600, at: START }
    const values = { ...row, buckets_json: encodeSegment(hours) }
    await old.free.write(trx => trx.insertInto('series').values(values).execute())
    await old.close()
    const { series } = await set(t, folder)
    t.strictSame(await series.energy(START), { wattHours: 70, cellHours: 1 })
  })
})

t.test(
  'a row that is no list of buckets is refused, and one with fewer metrics is read',
  async t => {
    for (const text of ['{}', '[1]', '[["a",1]]', '[[0,1,"x"]]', '[[0,1,[2]]]', '[[0,1,[2,"x"]]]'])
      t.throws(() => decodeSegment(text), { name: 'TypeError', message: /^expected/ }, text)
    const { values, known, samples } = decodeSegment('[[0,3,7,[8,2]]]').get(0) ?? {}
    t.strictSame([samples, values?.slice(0, 3), known?.slice(0, 3)], [3, [7, 8, NaN], [3, 2, 0]])
  },
)
