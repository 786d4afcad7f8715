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
    says: 'a cell announces a device with an invalid id, or one of another cell',
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
    says: 'a device was ordered to stop and was not observed at rest',
    level: 'critical',
    raiseAfterMs: 0,
    clearAfterMs: 0,
    rewordAfterMs: 0,
  },
  stop_unconfirmed: {
    says: 'the cell of a device has not confirmed its stop',
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
  /**
   * An alert that stays until the next start: only `audit accept` lifts it, with the coordinator
   * stopped.
   */
  audit_broken: {
    says: 'the audit was tampered with, so nothing is written',
    level: 'critical',
    raiseAfterMs: 0,
    clearAfterMs: 0,
  },
  /** An alert that stays until `usage accept`. */
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
 * Result of one look at the fleet; conditions that are in order are not reported. `hold` means
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
