import { type Kysely, type SelectQueryBuilder, sql } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import { countMatchingRows } from './count.ts'
import type { Database } from './engine.ts'
import type { RecordTables } from './record-tables.ts'
import type { Store } from './store.ts'
import type { LedgerTables } from './tables.ts'

/** A table and the columns of its primary key, which order its rows. */
type TableKeys<T> = { [N in keyof T & string]: readonly (keyof T[N] & string)[] }

/** Tables whose rows belong to processes and connections that have ended. */
type LiveTable =
  | 'leases'
  | 'replicas'
  | 'replica_keys'
  | 'cell_views'
  | 'cell_starts'
  | 'cell_renewals'
  | 'minute_subjects'
  | 'minute_slots'
  | 'minute_birth'
  | 'minute_reports'
  | 'quota_recalls'

/** Each table comes after those that it references. */
const LEDGER_KEYS: TableKeys<Omit<LedgerTables, LiveTable>> = {
  tenants: ['id'],
  persons: ['id'],
  keys: ['id'],
  key_claims: ['id'],
  visitor_requests: ['id'],
  join_tokens: ['id'],
  cells: ['id'],
  cell_settings: ['cell_id'],
  past_credentials: ['cell_id', 'digest'],
  commands: ['id'],
  configs: ['scope', 'name'],
  models: ['id'],
  gate_requests: ['id'],
  gate_votes: ['request_id', 'person_id', 'decision'],
  policies: ['number'],
  clocks: ['name'],
  agent_sessions: ['id'],
  agent_claims: ['tenant_id', 'scope'],
  agent_evidence: ['id'],
  operator_peers: ['id'],
  peer_handshakes: ['peer_id', 'other_id'],
  conversations: ['seq'],
  conversation_messages: ['conversation_id', 'seq'],
  jobs: ['seq'],
  ramp_ups: ['id'],
  flow_runs: ['id'],
  flow_steps: ['run_id', 'position', 'undo'],
  webhooks: ['id'],
  schedules: ['name'],
  idempotent_calls: ['scope', 'call_key'],
  a2a_tasks: ['tenant', 'owner', 'id'],
  a2a_push_configs: ['tenant', 'owner', 'task_id', 'config_id'],
  task_runs: ['task_id'],
  task_messages: ['key_id', 'message_id'],
  task_transitions: ['task_id', 'seq'],
  task_workers: ['id'],
  task_mail: ['task_id', 'kind'],
  quotas: ['month', 'subject'],
  usage_anchors: ['hour_at'],
  secrets: ['name'],
  sequences: ['name'],
  revisions: ['name'],
  events: ['seq'],
  event_cursors: ['name'],
  cell_presence: ['cell_id'],
  alerts: ['id'],
  estops: ['id'],
  estop_reports: ['cell_id'],
  formations: ['id'],
  formation_parts: ['formation_id', 'cell_id'],
  devices: ['device_id'],
  device_cells: ['device_id', 'cell_id'],
  discovery_traces: ['id'],
  discovery_trace_names: ['name', 'trace_id'],
  discovery_links: ['a', 'b'],
  discovery_key_alarms: ['key', 'trace_id'],
  discovery_entities: ['id'],
  discovery_entity_sources: ['entity_id', 'source'],
  discovery_entity_words: ['entity_id', 'word'],
  discovery_pins: ['id'],
  discovery_deltas: ['seq'],
  discovery_scanners: ['id'],
  discovery_seen: ['scanner_id', 'trace_id'],
  graph_layers: ['tenant_id', 'layer'],
  graph_nodes: ['tenant_id', 'id'],
  graph_edges: ['tenant_id', 'edge_key'],
  graph_learning: ['tenant_id', 'edge_key'],
  graph_learning_settings: ['tenant_id'],
  register_records: ['tenant_id', 'register', 'id'],
  stored_responses: ['id'],
  probe: ['id'],
  audit_trouble: ['id'],
  audit_checkpoint: ['id'],
  audit: ['seq'],
}

const RECORD_KEYS: TableKeys<RecordTables> = {
  usage: ['id'],
  series: ['cell_id', 'resolution_seconds', 'at'],
  series_cells: ['cell_id'],
  power_hours: ['hour_at'],
  device_series: ['device_id', 'property', 'resolution_seconds', 'at'],
  module_results: ['cell_id', 'module_id', 'run_id', 'part'],
  usage_buckets: ['hour_at', 'key_id', 'tenant_id', 'model'],
  usage_days: ['day_at', 'key_id', 'tenant_id', 'model'],
  usage_hours: ['hour_at'],
  call_hours: ['hour_at', 'tenant_id', 'operation_id'],
}

/** Rows per INSERT: the parameters of the widest table stay below the limits of both engines. */
const PAGE = 500

/**
 * Copies every row of a store into an empty one and returns the number of rows per table. Each
 * database is copied in one transaction, the ledger last: a target with a ledger is complete. No
 * coordinator may use either store. Throws `conflict` when the target is not empty, `internal` when
 * it has another number of rows afterwards.
 */
export const copyStore = async (from: Store, to: Store): Promise<Record<string, number>> => {
  await requireEmpty(to.records, RECORD_KEYS)
  await requireEmpty(to.ledger, LEDGER_KEYS)
  return {
    ...(await copyDatabase(from.records, to.records, RECORD_KEYS)),
    ...(await copyDatabase(from.ledger, to.ledger, LEDGER_KEYS)),
  }
}

type AnyDatabase = Record<string, Record<string, unknown>>

const requireEmpty = async <T>(database: Database<T>, keys: TableKeys<T>): Promise<void> => {
  for (const table of Object.keys(keys))
    if ((await countRows(database, table)) > 0)
      throw new ShoalError('conflict', `the target has rows in ${table}; it must be empty`)
}

const countRows = <T>({ read }: Database<T>, table: string): Promise<number> =>
  countMatchingRows((read as unknown as Kysely<AnyDatabase>).selectFrom(table))

const copyDatabase = async <T>(
  from: Database<T>,
  to: Database<T>,
  keys: TableKeys<T>,
): Promise<Record<string, number>> => {
  const source = from.read as unknown as Kysely<AnyDatabase>
  await to.sealed.write(async trx => {
    const target = trx as unknown as Kysely<AnyDatabase>
    for (const [table, key] of Object.entries<readonly string[]>(keys))
      for await (const rows of readPages(source, table, key))
        await target.insertInto(table).values(rows).execute()
  })
  const counts: Record<string, number> = {}
  for (const table of Object.keys(keys)) {
    const [before, after] = [await countRows(from, table), await countRows(to, table)]
    if (before !== after)
      throw new ShoalError(
        'internal',
        `${table} has ${after} rows in the copy and ${before} before`,
      )
    counts[table] = after
  }
  return counts
}

async function* readPages(
  source: Kysely<AnyDatabase>,
  table: string,
  key: readonly string[],
): AsyncGenerator<Record<string, unknown>[]> {
  for (let last: Record<string, unknown> | undefined; ; ) {
    let query: SelectQueryBuilder<AnyDatabase, string, Record<string, unknown>> = source
      .selectFrom(table)
      .selectAll()
      .limit(PAGE)
    for (const column of key) query = query.orderBy(column)
    const before = last
    if (before !== undefined)
      query = query.where(
        sql<boolean>`(${sql.join(key.map(column => sql.ref(column)))})
          > (${sql.join(key.map(column => before[column]))})`,
      )
    const rows = await query.execute()
    if (rows.length > 0) yield rows
    if (rows.length < PAGE) return
    last = rows.at(-1)
  }
}
