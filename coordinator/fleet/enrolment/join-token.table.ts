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

export const joinTokenTable = defineTable('join_tokens', {
  columns: {
    id: text(),
    digest: text(),
    uses: integer(),
    uses_left: integer(),
    created_at: time(),
    expires_at: time(),
    revoked_at: optional(time()),
    /** Role of the machines that enroll with the token: `cell`. */
    role: withDefault(text(), 'cell'),
    /** Tags that the cells get. */
    tags_json: withDefault(json(z.array(z.string())), '[]'),
    /** Tenant whose operators see it; absent for one that was created on the machine. */
    tenant_id: optional(reference('tenants')),
  },
  key: ['id'],
})

/** Token that lets machines enrol as cells, for a number of uses and a limited time. */
export type StoredToken = EntityOf<typeof joinTokenTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    join_tokens: TableOf<typeof joinTokenTable>
  }
}
