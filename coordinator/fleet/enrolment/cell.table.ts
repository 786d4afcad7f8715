import * as z from 'zod'
import {
  integer,
  json,
  optional,
  reference,
  text,
  time,
  withDefault,
} from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'

export const cellTable = defineTable('cells', {
  columns: {
    id: text(),
    name: text(),
    digest: text(),
    /**
     * Digest of a credential that was issued and not used yet; its first use makes it the only valid
     * one.
     */
    next_digest: optional(text()),
    /** Time at which the current credential was issued. */
    renewed_at: withDefault(time(), 0),
    /** The cell's ed25519 key, base64url; null for a cell that showed none. */
    public_key: optional(text()),
    /** Tags from its join token. */
    tags_json: withDefault(json(z.array(z.string())), '[]'),
    token_id: reference('join_tokens'),
    enrolled_at: time(),
    revoked_at: optional(time()),
    /**
     * Start of the quarantine: connections as this cell are refused until an operator releases it.
     */
    quarantined_at: optional(time()),
    /** Highest boot epoch the cell has shown; 0 before the first. */
    epoch: integer(),
  },
  key: ['id'],
})

/** A cell with the digests of its credentials, as the store has it. */
export type StoredCell = EntityOf<typeof cellTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    cells: TableOf<typeof cellTable>
  }
}
