import type { EntityOf } from '../../kernel/store/define-table.ts'
import type { alertTable } from './alert.table.ts'
import { ALERT_RULES, type AlertLevel } from './alert-rules.ts'

type Stored = EntityOf<typeof alertTable>

/** An alert as its row has it, with what its rule says and nothing in place of empty texts. */
export interface Alert
  extends Omit<Stored, 'cellId' | 'part' | 'acknowledgedBy' | 'acknowledgedAt' | 'note'> {
  level: AlertLevel
  /** Undefined when it is about the whole fleet or the coordinator itself. */
  cellId: string | undefined
  /**
   * GPU id or engine weights within the cell, or a model of the catalogue; undefined when the alert
   * is not about one of them.
   */
  part: string | undefined
  /** Somebody looks after it. */
  acknowledged: Acknowledgement | undefined
}

export interface Acknowledgement {
  /** Id of the person. */
  by: string
  /** Unix milliseconds. */
  at: number
  note: string
}

/** True until the alert is cleared. */
export const isRaised = ({ clearedAt }: Pick<Alert, 'clearedAt'>): boolean =>
  clearedAt === undefined

export const alertOf = (stored: Stored): Alert => {
  const { acknowledgedBy: by, acknowledgedAt: at = 0, note = '', ...alert } = stored
  return {
    ...alert,
    level: ALERT_RULES[alert.rule].level,
    cellId: alert.cellId || undefined,
    part: alert.part || undefined,
    acknowledged: by === undefined ? undefined : { by, at, note },
  }
}

/** Converts an alert to its wire format. */
export const alertData = (alert: Alert) => ({
  id: alert.id,
  rule: alert.rule,
  level: alert.level,
  cell_id: alert.cellId ?? null,
  part: alert.part ?? null,
  message: alert.message,
  raised_at: new Date(alert.raisedAt).toISOString(),
  cleared_at: alert.clearedAt === undefined ? null : new Date(alert.clearedAt).toISOString(),
  acknowledged: alert.acknowledged
    ? {
        by: alert.acknowledged.by,
        at: new Date(alert.acknowledged.at).toISOString(),
        note: alert.acknowledged.note,
      }
    : null,
})

/** Identifies what an alert is about: at most one alert of a key is raised at a time. */
export const alertKey = ({
  rule,
  cellId = '',
  part = '',
}: Pick<Alert, 'rule' | 'cellId' | 'part'>): string => `${rule} ${cellId} ${part}`
