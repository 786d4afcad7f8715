import type { Generated } from 'kysely'
export interface QuotaTables {
  quotas: QuotaRow
  minute_subjects: MinuteSubjectRow
  minute_slots: MinuteSlotRow
  minute_birth: MinuteBirthRow
  minute_reports: MinuteReportRow
  quota_recalls: QuotaRecallRow
  usage_anchors: UsageAnchorRow
}

/** Requests reserved in one calendar month (`2026-11`, UTC): spent, or leased by a coordinator. */
interface QuotaRow {
  month: string
  subject: string
  reserved: number
}

/** Row that a coordinator locks while it counts the last minute of a subject. */
interface MinuteSubjectRow {
  subject: string
}

/** Requests of one subject that one coordinator has started, or may start, in one slot. */
interface MinuteSlotRow {
  subject: string
  /** Number of the slot by the clock of the store. */
  slot: number
  replica: string
  starts: number
}

/** One row; it is missing where the tables of minutes were emptied. */
interface MinuteBirthRow {
  id: number
  /** Unix milliseconds by the clock of the store, when counts were last found lost. */
  at: number
  /** History of the database that the counts are in; empty before the first one was seen. */
  history: Generated<string>
}

/** A coordinator that has reported its counts since they were lost at `birth`. */
interface MinuteReportRow {
  replica: string
  birth: number
}

/** A coordinator needs what others have leased of the month and not spent. */
interface QuotaRecallRow {
  subject: string
  /** Unix milliseconds by the clock of the store. */
  at: number
}

/** Totals of one hour of usage that the records, which are another database, must hold. */
interface UsageAnchorRow {
  /** Beginning of the hour, UTC. */
  hour_at: number
  requests: number
  tokens: number
}
