import {
  flag,
  integer,
  oneOf,
  optional,
  text,
  time,
  withDefault,
} from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

export const usageTable = defineTable('usage', {
  columns: {
    /** Id assigned by the coordinator. */
    id: text(),
    /** Request id, which the client may choose: several rows may share a value. */
    request_id: text(),
    at: time(),
    key_id: text(),
    tenant_id: text(),
    model: text(),
    /** Empty when no cell took it. */
    cell_id: text(),
    route: text(),
    /** `discarded`: an answer of the cascade that nobody got; its request is counted by another row. */
    status: oneOf(['ok', 'cancelled', 'failed', 'discarded']),
    /** Null where the cell could not tell. */
    prompt_tokens: optional(integer()),
    completion_tokens: optional(integer()),
    /** Prompt tokens that the engine read from its cache. */
    cached_tokens: optional(integer()),
    duration_ms: integer(),
    /**
     * Time from the arrival of the request to the first event of its stream. Null for a whole answer
     * and without one; absent in rows of versions that did not keep it, as is `retries`.
     */
    ttft_ms: optional(integer()),
    /** Cells that had the request without answering it. */
    retries: optional(integer()),
    /** 1 when the row is in its bucket. */
    sealed: withDefault(flag(), 0),
  },
  key: ['id'],
  indexes: {
    usage_key: ['key_id', 'at'],
    usage_tenant: ['tenant_id', 'at'],
    usage_status: ['status', 'at'],
    usage_sealed: ['sealed', 'at', 'id'],
  },
  database: 'records',
})

type Later = 'ttft_ms' | 'retries'
type Row = RowOf<typeof usageTable>

/** A row as it is recorded; `ttft_ms` and `retries` are absent in those of versions without them. */
export type UsageRow = Omit<Row, 'sealed' | Later> & { [N in Later]?: Row[N] | undefined }

declare module '../../kernel/store/tables.ts' {
  interface RecordTables {
    usage: Omit<TableOf<typeof usageTable>, Later> & Pick<UsageRow, Later>
  }
}
