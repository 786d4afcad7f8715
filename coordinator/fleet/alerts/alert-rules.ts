import { type Cell, engineReports } from '../cells/cell.ts'
import { usedPercentOf, vramPercent } from '../cells/metrics.ts'
import { isPresent } from '../cells/presence.ts'
import { VRAM_CRITICAL_PERCENT, VRAM_WARN_PERCENT } from '../cells/vram.ts'
import type { EngineHealth } from '../routing/health/engine-health.ts'

export type AlertLevel = 'warn' | 'critical'

/**
 * The rules, with how long a state must last: shorter ones raise nothing, and an alert that is
 * raised is not cleared by them.
 */
export const ALERT_RULES = {
  vram_warn: {
    says: 'a GPU uses more than 90 percent of its memory',
    level: 'warn',
    raiseAfterMs: 0,
    clearAfterMs: 10_000,
  },
  vram_critical: {
    says: 'a GPU uses more than 95 percent of its memory',
    level: 'critical',
    raiseAfterMs: 0,
    clearAfterMs: 10_000,
  },
  /** Long enough to see whether it is one cell or half of the fleet. */
  cell_lost: {
    says: 'a cell does not answer',
    level: 'critical',
    raiseAfterMs: 10_000,
    clearAfterMs: 10_000,
  },
  /** Long enough for the restart of a cell. */
  model_unserved: {
    says: 'no cell serves a model of the catalogue',
    level: 'warn',
    raiseAfterMs: 30_000,
    clearAfterMs: 10_000,
  },
  no_model_served: {
    says: 'no cell serves any model of the catalogue',
    level: 'critical',
    raiseAfterMs: 30_000,
    clearAfterMs: 10_000,
  },
  /** Nobody may connect as this cell until an operator has looked at it. */
  cell_quarantined: {
    says: 'a credential is in use twice, so nobody may connect as this cell',
    level: 'critical',
    raiseAfterMs: 0,
    clearAfterMs: 0,
  },
  clock_off: {
    says: "a cell's clock is off by more than 2 s",
    level: 'warn',
    raiseAfterMs: 10_000,
    clearAfterMs: 10_000,
  },
  disk_full: {
    says: 'a disk of a cell is more than 95 percent full',
    level: 'critical',
    raiseAfterMs: 0,
    clearAfterMs: 10_000,
  },
  engine_failed: {
    says: 'an engine of a cell has failed',
    level: 'critical',
    raiseAfterMs: 0,
    clearAfterMs: 10_000,
  },
  /** A fact about the weights, on this cell. */
  model_refused: {
    says: 'a cell cannot open the weights of a model',
    level: 'warn',
    raiseAfterMs: 10_000,
    clearAfterMs: 10_000,
  },
  /** Long enough to see whether the first probe succeeds. */
  engine_unreliable: {
    says: 'an engine of a cell fails the requests that it is given',
    level: 'warn',
    raiseAfterMs: 10_000,
    clearAfterMs: 60_000,
  },
  /** Long enough for a cell to hear of a change of the catalogue. */
  model_unlisted: {
    says: 'a cell offers a model that the catalogue lacks',
    level: 'warn',
    raiseAfterMs: 10_000,
    clearAfterMs: 0,
  },
  /** Long enough for the registry to have the devices of the newest birth. */
  device_refused: {
    says: 'a cell announces a device under an id that is none, or that another cell has made',
    level: 'critical',
    raiseAfterMs: 3000,
    clearAfterMs: 0,
  },
  spool_dropping: {
    says: 'a cell had to drop samples that it could not send',
    level: 'warn',
    raiseAfterMs: 0,
    clearAfterMs: 300_000,
  },
  estop_engaged: {
    says: 'an e-stop is in force',
    level: 'critical',
    raiseAfterMs: 0,
    clearAfterMs: 0,
    rewordAfterMs: 0,
  },
  /** Long enough for a slow disk, and for a device that is stopped again. */
  estop_unconfirmed: {
    says: 'a connected cell has not confirmed an e-stop, or a device did not come to rest',
    level: 'critical',
    raiseAfterMs: 3000,
    clearAfterMs: 0,
    rewordAfterMs: 0,
  },
  /** The cell has waited already for the device to come to rest. */
  device_not_at_rest: {
    says: 'a device was told to stop and was not seen at rest',
    level: 'critical',
    raiseAfterMs: 0,
    clearAfterMs: 0,
    rewordAfterMs: 0,
  },
  stop_unconfirmed: {
    says: 'a device was told to stop and its cell has not confirmed it',
    level: 'critical',
    raiseAfterMs: 0,
    clearAfterMs: 0,
    rewordAfterMs: 0,
  },
  fleet_degraded: {
    says: 'over half of the fleet was lost at once',
    level: 'critical',
    raiseAfterMs: 0,
    clearAfterMs: 0,
  },
  /** Raised until the next start: only `audit accept` lifts it, with the coordinator stopped. */
  audit_broken: {
    says: 'the audit was tampered with, so nothing is written',
    level: 'critical',
    raiseAfterMs: 0,
    clearAfterMs: 0,
  },
  /** Raised until `usage accept`. */
  usage_missing: {
    says: 'recorded usage is missing or was changed',
    level: 'critical',
    raiseAfterMs: 0,
    clearAfterMs: 0,
  },
} as const satisfies Record<string, AlertRuleFacts>

interface AlertRuleFacts {
  says: string
  level: AlertLevel
  raiseAfterMs: number
  clearAfterMs: number
  /** A new message is stored no more often than this; once a minute by default. */
  rewordAfterMs?: number
}

export type AlertRule = keyof typeof ALERT_RULES

/** A message with a figure in it is stored no more often than this. */
const REWORD_MS = 60_000

/** Least time between two messages of one alert, in milliseconds. */
export const rewordAfterMs = (rule: AlertRule): number => {
  const facts: AlertRuleFacts = ALERT_RULES[rule]
  return facts.rewordAfterMs ?? REWORD_MS
}

/**
 * Finding of one look at the fleet; conditions that are in order are not reported. `hold` means
 * neither good nor bad, or unknown: it raises nothing and clears nothing.
 */
export interface Observation {
  rule: AlertRule
  /** Id of the cell; undefined for the fleet and for the coordinator itself. */
  cellId: string | undefined
  /**
   * GPU id or engine weights within the cell, or a model of the catalogue; undefined when the
   * finding is not about one of them.
   */
  part: string | undefined
  state: 'bad' | 'hold'
  message: string
}

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
  put('cell_lost', lostState(cell, surroundings), () => 'the cell does not answer')
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
        () => `${name} (${device_id}) was told to stop and was not seen at rest: ${stop.reason}`,
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
const lostState = (
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
