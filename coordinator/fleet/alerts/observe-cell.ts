import { type Cell, engineReports } from '../cells/cell.ts'
import { usedPercentOf, vramPercent } from '../cells/metrics.ts'
import { isPresent } from '../cells/presence.ts'
import { VRAM_CRITICAL_PERCENT, VRAM_WARN_PERCENT } from '../cells/vram.ts'
import type { EngineHealth } from '../routing/health/engine-health.ts'
import type { AlertRule, Observation } from './alert-rules.ts'

/**
 * Thresholds below which a value is in order again. Between these and the limits, alerts stay
 * unchanged.
 */
const CLEAR_BELOW = { vramWarn: 88, vramCritical: 93, disk: 93, clockMs: 1500 }
const DISK_PERCENT = 95
const CLOCK_MS = 2000

interface Surroundings {
  /** The cell was lost together with half of the fleet. */
  isMissing: (cellId: string) => boolean
  /** Another coordinator is connected to the cell. */
  isSeenElsewhere: (cellId: string) => boolean
  /** The cell was reported as stopped, by whichever coordinator heard it. */
  isStopped: (cellId: string) => boolean
  /** Samples that the cell's spool dropped since the last look. */
  newlyDropped: (cell: Cell) => number
}

export const observeCell = (cell: Cell, surroundings: Surroundings): Observation[] => {
  const found: Observation[] = []
  // nearly always everything is good, of every cell each second: no words are made for that
  const put = (rule: AlertRule, state: Judgement, message: () => string, part?: string) => {
    if (state !== 'good') found.push({ rule, cellId: cell.id, part, state, message: message() })
  }
  // a cell that was shut down on purpose has no engines, no GPUs and no clock that could be at fault
  if (cell.presence === 'stopped') return found
  put('cell_lost', judgeLoss(cell, surroundings), () => 'the cell does not answer')
  if (!isPresent(cell.presence)) {
    // nothing is known of a silent cell: what was raised stays raised
    for (const rule of HELD_WHILE_AWAY) put(rule, 'hold', () => '')
    return found
  }
  for (const gpu of cell.sample?.gpus ?? []) {
    const percent = vramPercent(gpu)
    const text = () => `GPU ${gpu.index} uses ${formatRounded(percent)} percent of its memory`
    put('vram_warn', judge(percent, VRAM_WARN_PERCENT, CLEAR_BELOW.vramWarn), text, gpu.id)
    const critical = judge(percent, VRAM_CRITICAL_PERCENT, CLEAR_BELOW.vramCritical)
    put('vram_critical', critical, text, gpu.id)
  }
  const { disk_used_bytes = null, disk_total_bytes = null } = cell.sample?.host ?? {}
  const disk = usedPercentOf(disk_used_bytes, disk_total_bytes)
  put(
    'disk_full',
    judge(disk, DISK_PERCENT, CLEAR_BELOW.disk),
    () => `disk ${formatRounded(disk)} percent full`,
  )
  const offMs = cell.clockAheadMs === undefined ? null : Math.abs(cell.clockAheadMs)
  const clock = judge(offMs, CLOCK_MS, CLEAR_BELOW.clockMs)
  put(
    'clock_off',
    clock,
    () => `the cell's clock is off by ${formatRounded((offMs ?? 0) / 1000)} s`,
  )
  for (const engine of engineReports(cell))
    if (engine.state === 'failed') {
      const reason = engine.reason ?? 'no reason given'
      put(
        engine.refused ? 'model_refused' : 'engine_failed',
        'bad',
        () => `engine for ${engine.models.join(', ')}: ${reason}`,
        engine.weights,
      )
    }
  for (const [weights, { health }] of cell.engines)
    if (health?.breaker.isClosed === false)
      put('engine_unreliable', 'bad', () => describeFaults(health), weights)
  for (const { device_id, name, unconfirmed_stop: stop } of cell.announce?.devices ?? [])
    if (stop !== undefined)
      put(
        'device_not_at_rest',
        'bad',
        () =>
          `${name} (${device_id}) was ordered to stop and was not observed at rest: ${stop.reason}`,
        device_id,
      )
  const dropped = surroundings.newlyDropped(cell)
  put('spool_dropping', dropped > 0 ? 'bad' : 'good', () => `the spool dropped ${dropped} samples`)
  return found
}

const describeFaults = ({ failed, served, lastFault }: EngineHealth): string =>
  `${failed} of ${failed + served} requests failed, the last one by ${lastFault ?? 'an unknown fault'}; it gets one request at a time until one succeeds`

type Judgement = Observation['state'] | 'good'

/** Rules that are held, for every part of a cell, while the cell is away. */
const HELD_WHILE_AWAY: AlertRule[] = [
  'vram_warn',
  'vram_critical',
  'disk_full',
  'clock_off',
  'device_not_at_rest',
  'engine_failed',
  'model_refused',
  'engine_unreliable',
  'spool_dropping',
]

/**
 * A cell that the operator took out is not lost. Nothing is known of a cell that has not come since
 * the start.
 */
const judgeLoss = (
  cell: Cell,
  { isMissing, isSeenElsewhere, isStopped }: Surroundings,
): Judgement => {
  if (cell.presence === 'suspect' || cell.presence === 'unknown') return 'hold'
  if (cell.presence !== 'dead' || cell.drained || isStopped(cell.id)) return 'good'
  return isMissing(cell.id) || isSeenElsewhere(cell.id) ? 'hold' : 'bad'
}

const judge = (value: number | null, above: number, clearBelow: number): Judgement => {
  if (value === null) return 'hold'
  if (value > above) return 'bad'
  return value < clearBelow ? 'good' : 'hold'
}

const formatRounded = (value: number | null): string =>
  value === null ? '?' : String(Math.round(value))
