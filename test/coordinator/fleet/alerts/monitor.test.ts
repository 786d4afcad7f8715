import t, { type Test } from 'tap'
import { createUsage } from '../../../../coordinator/access/quota/usage.ts'
import type { AlertRule, Observation } from '../../../../coordinator/fleet/alerts/alert-rules.ts'
import { type AlertChanges, AlertWatch } from '../../../../coordinator/fleet/alerts/alert-watch.ts'
import { Alerts } from '../../../../coordinator/fleet/alerts/alerts.ts'
import { createMonitor } from '../../../../coordinator/fleet/alerts/monitor.ts'
import { observeCell } from '../../../../coordinator/fleet/alerts/observe-cell.ts'
import { createWatch } from '../../../../coordinator/fleet/alerts/watch.ts'
import { type Cell, newCell } from '../../../../coordinator/fleet/cells/cell.ts'
import { createMassLoss } from '../../../../coordinator/fleet/cells/mass-loss.ts'
import { createThroughput } from '../../../../coordinator/fleet/cells/throughput.ts'
import {
  createUtilizationMonitor,
  utilizationOf,
} from '../../../../coordinator/fleet/cells/utilization.ts'
import { gpuVram, vramLevel, worstLevel } from '../../../../coordinator/fleet/cells/vram.ts'
import { EventLog } from '../../../../coordinator/kernel/events/event-log.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import type { Sample } from '../../../../shared/wire/telemetry.ts'
import { silent } from '../../../support/cell.ts'
import { createEvents } from '../../../support/memory-events.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { BY, temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'
import { engine, gpu, sampleOf } from '../series/samples.ts'

const cellWith = (sample: Partial<Sample>, other: Partial<Cell> = {}): Cell => ({
  ...newCell('c', 1),
  presence: 'ready',
  sample: sampleOf(1, sample),
  ...other,
})

t.test('utilisation is the mean of the known values', async t => {
  const half = gpu(50, { utilization_percent: 100 })
  for (const [title, cells, expected] of [
    ['nothing of no cell', [], { compositePercent: null, activeCells: 0, itemsPerHour: 7 }],
    [
      'of three figures',
      [cellWith({ gpus: [half], engines: [engine(3)] })],
      { gpuPercent: 100, vramPercent: 50, slotsPercent: 75, compositePercent: 75 },
    ],
    [
      'of slots alone on a cell without a GPU; 0 is a measurement',
      [cellWith({ engines: [engine(0)] })],
      { gpuPercent: null, vramPercent: null, slotsPercent: 0, compositePercent: 0 },
    ],
    [
      'of memory alone where the driver tells no more',
      [cellWith({ gpus: [gpu(20), gpu(null, { index: 1 })] })],
      { gpuPercent: null, vramPercent: 20, slotsPercent: null, compositePercent: 20 },
    ],
    [
      'over cells that are up, without the silent ones',
      [
        cellWith({ gpus: [gpu(10)] }, { presence: 'degraded' }),
        cellWith({ gpus: [gpu(30)] }, { presence: 'draining' }),
        cellWith({ gpus: [gpu(99)] }, { presence: 'suspect' }),
        cellWith({ gpus: [gpu(99)] }, { presence: 'dead' }),
        cellWith({}, { presence: 'ready', sample: undefined }),
      ],
      { vramPercent: 20, activeCells: 3 },
    ],
  ] as const)
    t.match(utilizationOf(cells, 7), expected, title)
})

t.test('utilisation is cached for a minute, or until a cell joins or leaves', async t => {
  const clock = { at: 1000 }
  let cells = [cellWith({})]
  const monitor = createUtilizationMonitor({
    cells: () => cells,
    itemsPerHour: () => 0,
    now: () => clock.at,
  })
  t.match(monitor.read(), { activeCells: 1, refreshedAt: 1000 })
  cells = [cellWith({}), cellWith({})]
  clock.at = 60_999
  t.match(monitor.read(), { activeCells: 1, refreshedAt: 1000 })
  clock.at = 61_000
  t.match(monitor.read(), { activeCells: 2, refreshedAt: 61_000 })
  cells = []
  clock.at = 61_001
  monitor.invalidate()
  t.match(monitor.read(), { activeCells: 0, refreshedAt: 61_001 })
  clock.at = 5
  t.match(monitor.read(), { refreshedAt: 5 }, 'also when the clock was set back')
})

t.test('VRAM is critical above 95, a warning above 90, and never ok when unknown', async t => {
  for (const [percent, level] of [
    [0, 'ok'],
    [90, 'ok'],
    [90.01, 'warn'],
    [95, 'warn'],
    [95.01, 'critical'],
    [null, 'unknown'],
  ] as const)
    t.equal(vramLevel(percent), level, String(percent))
  for (const [used, total, level] of [
    [0, 0, 'unknown'],
    [1, null, 'unknown'],
    [null, 100, 'unknown'],
    [101, 100, 'critical'],
  ] as const)
    t.equal(gpuVram(gpu(used, { vram_total_bytes: total })).level, level)
  for (const [levels, worst] of [
    [[], 'unknown'],
    [['ok', 'unknown'], 'unknown'],
    [['unknown', 'warn'], 'warn'],
    [['critical', 'warn', 'ok'], 'critical'],
    [['ok', 'ok'], 'ok'],
  ] as const)
    t.equal(worstLevel(levels.map(level => ({ level }))), worst)
})

t.test('requests of the last hour are counted, and older ones expire', async t => {
  const clock = { at: 10 * 3_600_000 }
  const { count, lastHour } = createThroughput(() => clock.at)
  count(clock.at, 5)
  clock.at += 59 * 60_000
  count(clock.at)
  t.equal(lastHour(), 6)
  count(clock.at - 2 * 3_600_000)
  t.equal(lastHour(), 6, 'what is older than an hour is not counted')
  clock.at += 60_000
  t.equal(lastHour(), 1)
})

const OBSERVED = {
  isMissing: () => false,
  isSeenElsewhere: () => false,
  isStopped: () => false,
  newlyDropped: () => 0,
}

/** Rules that are bad or held for a cell. */
const statesOf = (cell: Cell, around = OBSERVED): Partial<Record<AlertRule, string>> =>
  Object.fromEntries(observeCell(cell, around).map(({ rule, state }) => [rule, state]))

t.test('a fault of a cell is detected, and unknown values keep the previous state', async t => {
  const disk = (used: number | null) => {
    const { host } = sampleOf(1)
    return { host: { ...host, disk_used_bytes: used, disk_total_bytes: 100 } }
  }
  const sound = (other: Partial<Sample> = {}, clockAheadMs = 0) =>
    cellWith({ ...disk(50), ...other }, { clockAheadMs })
  const failed = engine(0, { state: 'failed', reason: 'no memory' })
  for (const [title, cell, expected] of [
    ['nothing', sound(), {}],
    ['memory at 87', sound({ gpus: [gpu(87)] }), {}],
    ['memory at 90', sound({ gpus: [gpu(90)] }), { vram_warn: 'hold' }],
    ['memory at 91', sound({ gpus: [gpu(91)] }), { vram_warn: 'bad' }],
    ['memory at 95', sound({ gpus: [gpu(95)] }), { vram_warn: 'bad', vram_critical: 'hold' }],
    ['memory at 96', sound({ gpus: [gpu(96)] }), { vram_warn: 'bad', vram_critical: 'bad' }],
    ['unknown memory', sound({ gpus: [gpu(null)] }), { vram_warn: 'hold', vram_critical: 'hold' }],
    ['a disk at 92', sound(disk(92)), {}],
    ['a disk at 95', sound(disk(95)), { disk_full: 'hold' }],
    ['a disk at 96', sound(disk(96)), { disk_full: 'bad' }],
    ['an unknown disk', sound(disk(null)), { disk_full: 'hold' }],
    ['a clock 1.4 s ahead', sound({}, 1400), {}],
    ['a clock 2 s ahead', sound({}, 2000), { clock_off: 'hold' }],
    ['a clock more than 2 s behind', sound({}, -2001), { clock_off: 'bad' }],
    ['an unknown clock', cellWith(disk(50)), { clock_off: 'hold' }],
    ['a failed engine', sound({ engines: [failed] }), { engine_failed: 'bad' }],
    [
      'weights that it cannot open',
      sound({ engines: [{ ...failed, refused: true }] }),
      { model_refused: 'bad' },
    ],
  ] as const)
    t.strictSame(statesOf(cell), expected, title)
  t.match(statesOf(sound(), { ...OBSERVED, newlyDropped: () => 1 }), { spool_dropping: 'bad' })
})

t.test('a cell is lost when it disappears without notice', async t => {
  for (const [other, state] of [
    [{ presence: 'dead' }, 'bad'],
    [{ presence: 'suspect' }, 'hold'],
    [{ presence: 'unknown' }, 'hold'],
    [{ presence: 'dead', drained: true }, undefined],
  ] as const) {
    const states = statesOf(cellWith({}, other))
    t.equal(states.cell_lost, state, JSON.stringify(other))
    t.equal(states.vram_warn, 'hold', 'nothing else is known of a silent cell')
  }
  const dead = cellWith({}, { presence: 'dead' })
  t.equal(statesOf(dead, { ...OBSERVED, isMissing: () => true }).cell_lost, 'hold')
  t.equal(statesOf(dead, { ...OBSERVED, isSeenElsewhere: () => true }).cell_lost, 'hold')
  const stoppedThere = { ...OBSERVED, isStopped: () => true }
  t.equal(statesOf(dead, stoppedThere).cell_lost, undefined, 'another coordinator heard its end')
})

t.test('a cell that was stopped raises no alert, and keeps none', async t => {
  const full = cellWith({ gpus: [gpu(99)] }, { presence: 'stopped' })
  t.strictSame(observeCell(full, OBSERVED), [])
})

t.test('models of the catalogue that no cell serves are reported', async t => {
  const { clock, look, told, alerts } = await alertRig(t)
  const cells = [cellWith({})]
  const served = new Set(['a', 'b', 'c'])
  const around = { starting: true, elsewhere: false }
  const observe = createWatch({
    cells: () => cells,
    massLoss: createMassLoss(() => 0),
    listModels: () => ['a', 'b', 'c'].map(id => ({ id, served: served.has(id) })),
    isStarting: () => around.starting,
    isSeenElsewhere: () => around.elsewhere,
  })
  const pass = async (seconds: number) => {
    clock.ms += seconds * 1000
    await look(observe())
  }
  served.clear()
  await pass(0)
  await pass(60)
  t.strictSame(told, [], 'cells may not have come back yet')
  around.starting = false
  served.add('a').add('b')
  await pass(1)
  await pass(29)
  t.strictSame(told, [], 'a restart of a cell takes less')
  await pass(1)
  t.strictSame(told.splice(0), ['raised model_unserved'])
  t.match(alerts.raised(), [
    { part: 'c', level: 'warn', message: /no cell serves c,.*shoal models show c/ },
  ])

  served.clear()
  for (const cell of cells) cell.presence = 'stopped'
  around.elsewhere = true
  await pass(1)
  await pass(60)
  t.strictSame(told, [], 'another coordinator has the cell')
  around.elsewhere = false
  await pass(1)
  await pass(30)
  t.strictSame(told.splice(0), ['raised no_model_served'], 'one alert for all of them')
  t.match(alerts.raised()[0], {
    level: 'critical',
    message: /any model of the catalogue: 0 of 1 cells are connected, 1 stopped/,
  })
  for (const id of ['a', 'b', 'c']) served.add(id)
  await pass(1)
  await pass(10)
  t.strictSame(told.toSorted(), ['cleared model_unserved', 'cleared no_model_served'])
})

/** Alerts in a store of their own, with what was reported of them. */
const alertRig = async (t: Test) => {
  const clock = { ms: 0 }
  const told: string[] = []
  const store = await temporaryStore(t)
  const events = createEvents({ source: '/shoal/test', logger: silent })
  events.subscribe('shoal.alert.', ({ type, data }) => {
    const { rule, cell_id } = data as { rule: string; cell_id: string | null }
    told.push([type.slice('shoal.alert.'.length), rule, cell_id ?? ''].join(' ').trim())
  })
  const now = () => clock.ms
  const alerts = await Alerts.open({ runtime: systemRuntime, store, events, logger: silent, now })
  const watch = new AlertWatch(now)
  const look = (observations: Iterable<Observation>) =>
    alerts.change(store.ledger, watch.look(observations, alerts.raised()))
  return { store, events, clock, alerts, look, told }
}

t.test('alerts', async t => {
  const rig = async (t: Test) => {
    const { clock, look, ...rest } = await alertRig(t)
    const lookAt = async (ms: number, ...observations: Partial<Observation>[]) => {
      clock.ms = ms
      const common = { cellId: 'c', part: undefined, message: '' }
      await look(observations.map(one => ({ ...common, ...one }) as Observation))
    }
    return { ...rest, look: lookAt }
  }
  const full = { rule: 'vram_warn', part: 'gpu', state: 'bad' } as const
  const between = { ...full, state: 'hold' } as const
  const lost = { rule: 'cell_lost', state: 'bad' } as const

  t.test('of e-stops name the newest one at once; others are reworded seldom', async t => {
    const { alerts, look } = await rig(t)
    const stop = { rule: 'estop_engaged', state: 'bad' } as const
    await look(0, { ...stop, message: 'first' }, { ...full, message: 'first' })
    await look(1000, { ...stop, message: 'second' }, { ...full, message: 'second' })
    const messages = new Map(alerts.raised().map(({ rule, message }) => [rule, message]))
    t.equal(messages.get('estop_engaged'), 'second')
    t.equal(messages.get('vram_warn'), 'first')
  })

  t.test('are raised once and cleared once, however long and however often', async t => {
    const { alerts, look, told } = await rig(t)
    for (const ms of [0, 1000, 2000]) await look(ms, full)
    for (const ms of [3000, 9000, 12_999]) await look(ms)
    t.strictSame(told, ['raised vram_warn c'])
    await look(13_000)
    await look(14_000)
    t.strictSame(told, ['raised vram_warn c', 'cleared vram_warn c'])
    t.match(alerts.list(), [{ raisedAt: 0, clearedAt: 13_000 }])
  })

  t.test('are not cleared by values that are intermediate, unknown or brief', async t => {
    const { look, told } = await rig(t)
    await look(0, full)
    await look(60_000, between)
    await look(61_000)
    await look(70_000, full)
    await look(71_000)
    await look(80_999)
    t.strictSame(told, ['raised vram_warn c'])
    await look(81_000)
    t.equal(told.length, 2)
  })

  t.test('of a lost cell wait 10 s, and a flapping cell raises none', async t => {
    const { look, told } = await rig(t)
    for (let ms = 0; ms < 60_000; ms += 6000) {
      await look(ms, lost)
      await look(ms + 3000)
    }
    t.strictSame(told, [])
    await look(60_000, lost)
    await look(69_999, lost)
    t.strictSame(told, [])
    await look(70_000, lost)
    t.strictSame(told, ['raised cell_lost c'])
  })

  t.test('of the components of a silent cell stay', async t => {
    const { look, told } = await rig(t)
    await look(0, full)
    await look(50_000, { rule: 'vram_warn', state: 'hold' })
    await look(99_000, { rule: 'vram_warn', state: 'hold' })
    t.strictSame(told, ['raised vram_warn c'])
  })

  t.test('of two GPUs are separate, newest first', async t => {
    const { alerts, look } = await rig(t)
    await look(0, full)
    await look(1, full, { ...full, part: 'other' })
    t.strictSame(
      alerts.list().map(alert => alert.part),
      ['other', 'gpu'],
    )
  })
})

t.test('a mass loss is one alert, and cells that stay lost are reported later', async t => {
  const { clock, look, told } = await alertRig(t)
  const cells = Array.from({ length: 20 }, (_, i) => ({ ...cellWith({}), id: `c${i}` }))
  const massLoss = createMassLoss(() => clock.ms)
  const observe = createWatch({ cells: () => cells, massLoss })
  const become = (from: number, to: number, presence: Cell['presence']) => {
    for (const cell of cells.slice(from, to)) {
      cell.presence = presence
      massLoss.note(cell.id, presence)
    }
  }
  const pass = async (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      clock.ms += 1000
      await look(observe())
    }
  }
  become(0, 20, 'ready')
  await pass(1)
  become(0, 15, 'dead')
  await pass(60)
  t.strictSame(told, ['raised fleet_degraded'])
  become(0, 14, 'ready')
  await pass(30)
  t.strictSame(told, ['raised fleet_degraded', 'cleared fleet_degraded', 'raised cell_lost c14'])
})

t.test('an alert reports only what a spool dropped since the last check', async t => {
  const { alerts, look } = await alertRig(t)
  const cell = cellWith({}, { sample: undefined })
  const massLoss = createMassLoss(() => 0)
  const observe = createWatch({ cells: () => [cell], massLoss })
  await look(observe())
  for (const spool_dropped of [500, 500, 0, 0]) {
    cell.sample = sampleOf(1, { spool_dropped })
    await look(observe())
  }
  t.strictSame(alerts.list(), [], 'old losses and a restart of the cell are no news')
  cell.sample = sampleOf(1, { spool_dropped: 7 })
  await look(observe())
  t.match(alerts.list(), [{ message: 'the spool dropped 7 samples' }])
})

t.test('an alert outlives its coordinator and belongs to all of them', async t => {
  const folder = await temporaryFolder(t)
  const full = { rule: 'disk_full', cellId: 'c', part: undefined, state: 'bad' } as const
  const raise = [{ ...full, message: 'disk 99 percent full' }]
  const open = async () => {
    const store = await temporaryStore(t, folder)
    const events = await EventLog.open({
      runtime: systemRuntime,
      store,
      source: '/shoal/x',
      kept: 9,
      logger: silent,
      now,
    })
    const alerts = await Alerts.open({ runtime: systemRuntime, store, events, logger: silent, now })
    const change = (changes: Partial<AlertChanges>) =>
      alerts.change(store.ledger, { raise: [], clear: [], reword: [], ...changes })
    t.teardown(async () => {
      await alerts.close()
      await events.close()
    })
    return { store, events, alerts, change }
  }
  const now = () => 5000
  const a = await open()
  const b = await open()
  await Promise.all([a.change({ raise }), b.change({ raise })])
  await b.store.revisions.poll()
  await waitUntil('the alert', () => b.alerts.list()[0])
  const [alert] = a.alerts.list()
  t.strictSame(b.alerts.list(), [alert], 'it was raised once')
  const id = alert?.id ?? ''
  await b.alerts.acknowledge(id, 'ann', 'I empty it', BY)
  await a.store.revisions.poll()
  const { acknowledged } = await waitUntil('the person', () =>
    a.alerts.list().find(each => each.acknowledged !== undefined),
  )
  t.strictSame(acknowledged, { by: 'ann', at: 5000, note: 'I empty it' })
  const c = await open()
  t.match(c.alerts.list(), [{ id, acknowledged: { by: 'ann' }, clearedAt: undefined }])
  await Promise.all([a, b, c].map(each => each.change({ clear: c.alerts.list() })))
  await t.rejects(c.alerts.acknowledge(id, 'ann', undefined, BY), { code: 'conflict' })
  await c.events.catchUp()
  t.strictSame(
    c.events.read(0).events.map(({ type }) => type),
    ['shoal.alert.raised', 'shoal.alert.acknowledged', 'shoal.alert.cleared'],
  )
})

t.test('the monitor', async t => {
  t.test('publishes alerts as events, keeps usage and clears alerts of revoked cells', async t => {
    const store = await temporaryStore(t)
    const clock = { at: Date.UTC(2026, 10, 20, 12) }
    const row = {
      request_id: 'r',
      key_id: 'k',
      tenant_id: 't',
      model: 'm',
      cell_id: 'c',
      route: '/v1/chat/completions',
      prompt_tokens: 1,
      completion_tokens: 1,
      cached_tokens: 0,
      duration_ms: 1,
    }
    const usage = createUsage(store)
    await usage.record({ ...row, at: clock.at - 1000, status: 'ok' })
    await usage.record({ ...row, at: clock.at - 1000, status: 'failed' })
    await usage.record({ ...row, at: clock.at - 2 * 3_600_000, status: 'ok' })

    const events: [string, unknown][] = []
    let cells = [cellWith({ gpus: [gpu(99)] })]
    const monitor = await createMonitor({
      runtime: systemRuntime,
      store,
      logger: silent,
      cells: () => cells,
      now: () => clock.at,
      nowMs: () => clock.at,
      events: {
        addWithin: async (_trx, drafts) => {
          for (const { type, data } of drafts) events.push([type, data])
        },
      },
    })
    monitor.countCompleted(clock.at)
    t.equal(monitor.utilization().itemsPerHour, 2)
    await monitor.lookForAlerts(store.ledger)
    t.match(events, [
      ['shoal.alert.raised', { rule: 'vram_warn', level: 'warn', cell_id: 'c', part: 'gpu' }],
      ['shoal.alert.raised', { rule: 'vram_critical', level: 'critical', cleared_at: null }],
    ])
    cells = []
    monitor.forget('c')
    for (const _ of [1, 2]) {
      clock.at += 10_000
      await monitor.lookForAlerts(store.ledger)
    }
    t.equal(events.filter(([type]) => type === 'shoal.alert.cleared').length, 2)
    t.equal(monitor.utilization().activeCells, 0)
    await monitor.close()
  })
})
