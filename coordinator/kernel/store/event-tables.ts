/** Tables of what is reported about the fleet, and to whom it was reported. */
export interface EventTables {
  events: EventRow
  event_cursors: EventCursorRow
  cell_views: CellViewRow
  cell_presence: CellPresenceRow
  alerts: AlertRow
}

/** An event; the newest ones are kept for readers that come back. */
export interface EventRow {
  /** Number in the order of commits, without gaps: the id of the event. */
  seq: number
  type: string
  /** Name of the coordinator, as `/shoal/<name>`. */
  source: string
  subject: string | null
  at: number
  data_json: string
}

/** Position of a reader that must miss no event over restarts and changes of the leader. */
interface EventCursorRow {
  name: string
  /** Number of the last event that was handled. */
  seq: number
}

/** Presence of a cell as one coordinator sees it. */
export interface CellViewRow {
  cell_id: string
  replica_id: string
  presence: string
}

/** Presence of a cell over all coordinators, as the last event reported it. */
interface CellPresenceRow {
  cell_id: string
  presence: string
  told_at: number
}

/** An alert. At most one per rule, cell and part is raised at a time. */
export interface AlertRow {
  id: string
  rule: string
  /** Empty for the fleet and for the coordinator itself. */
  cell_id: string
  /** GPU or engine of the cell, or a model; empty when the alert is not about one of them. */
  part: string
  message: string
  raised_at: number
  cleared_at: number | null
  /** Person who looks after the alert. */
  acknowledged_by: string | null
  acknowledged_at: number | null
  note: string | null
}
