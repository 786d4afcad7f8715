import type { Generated } from 'kysely'

/** The tables of the records: what may lose its last moments. */
export interface RecordTables {
  usage: UsageRow & SealableColumns
  usage_buckets: UsageBucketRow
  usage_days: UsageDayRow
  usage_hours: UsageHourRow
  call_hours: CallHourRow
  series: SeriesRow
  series_cells: SeriesCellRow
  power_hours: PowerHourRow
  device_series: DeviceSeriesRow
  module_results: ModuleResultRow
}

export interface UsageRow {
  /** Id assigned by the coordinator. */
  id: string
  /** Request id, which the client may choose: several rows may share a value. */
  request_id: string
  at: number
  key_id: string
  tenant_id: string
  model: string
  /** Empty when no cell took it. */
  cell_id: string
  route: string
  /** `discarded`: an answer of the cascade that nobody got; its request is counted by another row. */
  status: 'ok' | 'cancelled' | 'failed' | 'discarded'
  /** Null where the cell could not tell. */
  prompt_tokens: number | null
  completion_tokens: number | null
  /** Prompt tokens that the engine read from its cache. */
  cached_tokens: number | null
  duration_ms: number
  /**
   * Time from the arrival of the request to the first event of its stream. Null for a whole answer
   * and without one; absent in rows of versions that did not keep it, as is `retries`.
   */
  ttft_ms?: number | null | undefined
  /** Cells that had the request without answering it. */
  retries?: number | null | undefined
}

interface SealableColumns {
  /** 1 when the row is in its bucket. */
  sealed: Generated<number>
}

/** Sums of the requests of one key for one model that began within a span of time. */
interface UsageSumColumns {
  key_id: string
  tenant_id: string
  model: string
  /** Requests by how they ended. */
  ok: number
  cancelled: number
  failed: number
  prompt_tokens: number
  cached_tokens: number
  completion_tokens: number
  duration_ms: number
  /** Requests that left no row: refused by a limit or as invalid, and those that no cell took. */
  refused: Generated<number>
  unavailable: Generated<number>
  retries: Generated<number>
  /** Number of streams with a first token, and the sum of their times to it. */
  ttft_count: Generated<number>
  ttft_ms: Generated<number>
  /** Streams whose first token took at most so many milliseconds. */
  ttft_le_100: Generated<number>
  ttft_le_250: Generated<number>
  ttft_le_500: Generated<number>
  ttft_le_1000: Generated<number>
  ttft_le_2500: Generated<number>
  ttft_le_5000: Generated<number>
  ttft_le_10000: Generated<number>
  ttft_le_30000: Generated<number>
  /** Duration of the requests that generated tokens. */
  generation_ms: Generated<number>
}

interface UsageBucketRow extends UsageSumColumns {
  /** Beginning of the hour, UTC. */
  hour_at: number
}

/** Sum of the buckets of one day, written in the same transactions as they are. */
interface UsageDayRow extends UsageSumColumns {
  /** Beginning of the day, UTC. */
  day_at: number
}

/** Calls of one operation by one tenant that ended in one hour. */
interface CallHourRow {
  /** Beginning of the hour, UTC. */
  hour_at: number
  /** Empty for calls without a key. */
  tenant_id: string
  operation_id: string
  calls: number
  errors: number
  duration_ms: number
}

/** Totals of the rows of one hour, written in the same transactions as the rows. */
interface UsageHourRow {
  /** Beginning of the hour, UTC. */
  hour_at: number
  /** Number of rows that are requests of their own. */
  requests: number
  /** Prompt and completion tokens of all rows. */
  tokens: number
  /** Sum of the checksums of the rows; null when some of the rows were purged, or are older than it. */
  checksum: number | null
}

/** Values of one cell over a span of time; `coordinator/fleet/series/bucket.ts` knows the form. */
interface SeriesRow {
  cell_id: string
  resolution_seconds: number
  /** Beginning of the span. */
  at: number
  buckets_json: string
}

interface SeriesCellRow {
  cell_id: string
  /** Time of the newest late sample that was counted, by the cell's clock. */
  late_until: number
}

/** Sum of the hourly means of the GPU power of all cells, written with the rows of their series. */
interface PowerHourRow {
  /** Beginning of the hour, UTC. */
  hour_at: number
  watt_hours: number
  /** Cells whose power was measured within the hour. */
  cells: number
}

/** Values of one property of a device over a span of time; see `coordinator/devices/inventory/series-spans.ts`. */
interface DeviceSeriesRow {
  device_id: string
  property: string
  resolution_seconds: number
  /** Beginning of the span. */
  at: number
  spans_json: string
}

/** A part of the last run of a discovery module on a cell. */
export interface ModuleResultRow {
  /** Empty for a module that runs on the coordinator. */
  cell_id: string
  module_id: string
  run_id: string
  part: number
  /** Start of the run by the clock of its machine. */
  started_at: number
  /** Time at which the part arrived. */
  taken_at: number
  elapsed_ms: number | null
  /** How the run ended, in its last part; null in the others. */
  outcome: string | null
  reason: string | null
  /** Warnings and sources. */
  notes_json: string
  rows_json: string
}
