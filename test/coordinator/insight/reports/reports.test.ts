import t from 'tap'
import { loadShippedGates } from '../../../../coordinator/access/gates/definition.ts'
import { judgeBackups } from '../../../../coordinator/insight/reports/backup-standing.ts'
import { findGaps, type GapFacts } from '../../../../coordinator/insight/reports/gaps.ts'
import { type ObservedCell, optimize } from '../../../../coordinator/insight/reports/optimize.ts'
import { comparePeriods } from '../../../../coordinator/insight/reports/period.ts'
import {
  computeChangePercent,
  metricsOf,
  NO_USAGE,
} from '../../../../coordinator/insight/reports/service-metrics.ts'
import { engine } from '../../fleet/series/samples.ts'

const HOUR_MS = 3_600_000

t.test('a period has 24 hours with the one that runs, and follows the previous one', async t => {
  const { current, previous } = comparePeriods(Date.UTC(2026, 10, 20, 12, 30))
  t.equal(current.to, Date.UTC(2026, 10, 20, 13))
  t.equal(current.to - current.from, 24 * HOUR_MS)
  t.equal(previous.to, current.from)
  t.equal(previous.to - previous.from, 24 * HOUR_MS)
})

t.test('percentiles of the time to first token are interpolated in their histogram', async t => {
  const sums = {
    ...NO_USAGE,
    ttft_count: 100,
    ttft_ms: 30_000,
    ttft_le_100: 0,
    ttft_le_250: 50,
    ttft_le_500: 90,
    ttft_le_1000: 100,
    ttft_le_2500: 100,
    ttft_le_5000: 100,
    ttft_le_10000: 100,
    ttft_le_30000: 100,
  }
  t.match(metricsOf(sums), { ttftMeanMs: 300, ttftP50Ms: 250, ttftP95Ms: 750 })
  const slow = { ...NO_USAGE, ttft_count: 2, ttft_ms: 90_000 }
  t.match(metricsOf(slow), { ttftP50Ms: 30_000, ttftP95Ms: 30_000 })
})

t.test('tokens per second are those of requests that generated any', async t => {
  const sums = { ...NO_USAGE, completion_tokens: 100, duration_ms: 5000, generation_ms: 2000 }
  t.match(metricsOf(sums), { tokensPerSecond: 50 })
  t.match(metricsOf({ ...NO_USAGE, ok: 1, duration_ms: 5000 }), { tokensPerSecond: null })
})

t.test('figures without a measurement are null, never 0', async t => {
  t.match(metricsOf(NO_USAGE), {
    requests: 0,
    errorPercent: null,
    tokensPerSecond: null,
    ttftP50Ms: null,
    cachedPercent: null,
  })
  t.equal(computeChangePercent(5, 0), null)
  t.equal(computeChangePercent(5, null), null)
  t.equal(computeChangePercent(5, 4), 25)
})

const facts = (more: Partial<GapFacts> = {}): GapFacts => ({
  models: [{ id: 'm', served: true }],
  cells: [{ id: 'a' }],
  presenceOf: () => 'ready',
  gates: {},
  approvers: [],
  frameworks: [],
  backups: { state: 'ok', newest: undefined, ageMs: 0, remedy: undefined },
  ...more,
})

t.test('a gap is what is declared and is not there', async t => {
  const ids = (more: Partial<GapFacts>) => findGaps(facts(more)).gaps.map(({ id }) => id)
  t.strictSame(ids({}), [])
  t.strictSame(ids({ models: [{ id: 'm', served: false }] }), ['m'])
  t.strictSame(ids({ presenceOf: () => 'dead' }), ['a'])
  t.strictSame(ids({ cells: [{ id: 'a', quarantinedAt: 1 }] }), ['a'])
  t.strictSame(ids({ cells: [{ id: 'a', revokedAt: 1 }], presenceOf: () => 'dead' }), [])
})

t.test('a gate with two approvals needs two persons', async t => {
  const gates = { g: loadShippedGates()['gate.major-release-approve'] as GapFacts['gates'][string] }
  const both = ['architect', 'operator_admin'] as const
  const gaps = (approvers: GapFacts['approvers']) => findGaps(facts({ gates, approvers })).gaps
  t.match(gaps([{ personId: 'ann', roles: both }]), [{ area: 'roles', id: 'g' }])
  t.match(
    gaps([
      { personId: 'ann', roles: both },
      { personId: 'ann', roles: both },
    ]).length,
    1,
  )
  t.strictSame(
    gaps([
      { personId: 'ann', roles: both },
      { personId: 'bob', roles: both },
    ]),
    [],
  )
})

const none = { mean: null, max: null, points: 0 }
const level = (value: number) => ({ mean: value, max: value, points: 10 })
const cellOf = (id: string, more: Partial<ObservedCell> = {}): ObservedCell => ({
  id,
  engines: [engine(0)],
  freeBytes: 100,
  slotsBusyPercent: none,
  gpuPercent: none,
  queued: none,
  ...more,
})
const cold = engine(0, { state: 'cold', memory_bytes: 80 })
const recommend = (cells: ObservedCell[], requests: [string, number][] = []) =>
  optimize({ cells, requests: new Map(requests) })

t.test('a requested model that nobody has loaded goes where it fits', async t => {
  const cells = [cellOf('a', { engines: [cold], freeBytes: 79 }), cellOf('b', { engines: [cold] })]
  t.match(recommend(cells, [['m', 3]]), [
    {
      kind: 'placement',
      cellId: 'b',
      effect: [{ value: 3 }, { value: 80, unit: 'bytes' }],
      step: { operation: 'cells-load', input: { cell_id: 'b', model: 'm' } },
    },
  ])
  t.strictSame(recommend(cells, [['m', 0]]), [])
  t.strictSame(recommend(cells.slice(0, 1), [['m', 3]]), [], 'it does not fit')
})

t.test('a model that was idle for an hour is unloaded, unless it is pinned', async t => {
  const idle = (seconds: number, pinned = false) =>
    recommend([
      cellOf('a', { engines: [engine(0, { idle_seconds: seconds, memory_bytes: 7, pinned })] }),
    ])
  t.match(idle(3600), [{ kind: 'unload', effect: [{ name: 'memory_freed', value: 7 }] }])
  t.strictSame(idle(3599), [])
  t.strictSame(idle(3600, true), [])
})

t.test('a cell that was busy gets help from one that offers its model', async t => {
  const busy = cellOf('a', { slotsBusyPercent: level(90) })
  const calm = cellOf('b', { engines: [cold], slotsBusyPercent: level(10) })
  t.match(recommend([busy, calm]), [
    {
      kind: 'placement',
      cellId: 'b',
      effect: [
        { name: 'slots_added', value: 4 },
        { name: 'slots_busy_expected', value: 45 },
      ],
    },
  ])
  t.strictSame(recommend([{ ...busy, slotsBusyPercent: level(80) }, calm]), [])
})

t.test('more slots are for a cell whose requests wait while its GPU is idle', async t => {
  const waiting = { slotsBusyPercent: level(90), queued: level(5) }
  t.match(recommend([cellOf('a', { ...waiting, gpuPercent: level(30) })]), [
    { kind: 'slots', step: undefined, noStepReason: /inference\.slots/ },
  ])
  t.strictSame(recommend([cellOf('a', { ...waiting, gpuPercent: level(50) })]), [])
  t.strictSame(recommend([cellOf('a', waiting)]), [], 'nothing is known of the GPU')
})

t.test('two cells with one model that are used unevenly are reported', async t => {
  const pair = (most: number) => [
    cellOf('a', { slotsBusyPercent: level(most) }),
    cellOf('b', { slotsBusyPercent: level(10) }),
  ]
  t.match(recommend(pair(50)), [
    { kind: 'imbalance', cellId: 'a', effect: [{ value: 30 }], noStepReason: /dedication/ },
  ])
  t.strictSame(recommend(pair(49)), [])
})

t.test('the standing of backups is that of the newest', async t => {
  const backup = (hours: number, verified?: boolean) => ({
    name: 'backup-20261120T000000Z',
    manifest: {
      format: 1 as const,
      created_at: 1000 * HOUR_MS - hours * HOUR_MS,
      version: '1',
      is_scheduled: false,
      store: 'sqlite' as const,
      sealed_for: 'passphrase' as const,
      files: [],
      audit_head: null,
    },
    verified: verified === undefined ? undefined : { at: 0, ok: verified, reason: null },
  })
  const state = (...backups: ReturnType<typeof backup>[]) =>
    judgeBackups(backups, 1000 * HOUR_MS).state
  t.equal(state(), 'none')
  t.equal(state(backup(1)), 'unverified')
  t.equal(state(backup(1, true)), 'ok')
  t.equal(state(backup(1, false), backup(2, true)), 'damaged')
  t.equal(state(backup(26, true)), 'ok')
  t.equal(state(backup(27, true)), 'overdue')
})
