export interface EstopTables {
  estops: EstopRow
  estop_reports: EstopReportRow
}

/** An e-stop, in force until it is released. Times are unix milliseconds. */
export interface EstopRow {
  id: string
  scope: string
  target: string | null
  /** The only cell that it is for, such as the one on which it was engaged; null for others. */
  cell_id: string | null
  /** 1 for a stop that was engaged on the machine of a cell; else 0. */
  is_local: number
  engaged_at: number
  engaged_by: string
  reason: string
  released_at: number | null
  released_by: string | null
  release_reason: string | null
}

/** Newest report of a cell about its latched stops. */
export interface EstopReportRow {
  cell_id: string
  /** Version of the newest document that the cell has applied. */
  version: number
  latched_json: string
  failed_json: string
  /** Unix milliseconds by the clock of the coordinator that received it. */
  reported_at: number
}
