import * as z from 'zod'
import { flag, integer, json, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** A device as it was reported last, over all cells and coordinators. */
export const deviceTable = defineTable('devices', {
  columns: {
    device_id: text(),
    /** Cell that it belongs to, or belonged to before it was removed. */
    cell_id: text(),
    /** Other cells that announce it: a list of ids. */
    also_on_json: json(z.unknown()),
    kind: text(),
    /** Facts that the cell announces. */
    facts_json: json(z.unknown()),
    /** 1 while its cell is connected and reaches it. */
    is_available: flag(),
    labels_json: json(z.unknown()),
    first_seen: time(),
    /** Time of the last change of what is announced; no heartbeat writes it. */
    changed_at: time(),
    /** Time at which the last cell stopped announcing it; null before. */
    gone_at: optional(time()),
    /** Grows over all rows, so that other processes read what has changed. */
    version: integer(),
  },
  key: ['device_id'],
  indexes: {
    devices_version: ['version'],
  },
})

export type DeviceRow = RowOf<typeof deviceTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    devices: TableOf<typeof deviceTable>
  }
}
