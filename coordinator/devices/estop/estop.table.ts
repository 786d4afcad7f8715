import { EstopScope } from '../../../shared/wire/estop.ts'
import { flag, oneOf, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'

/** An e-stop of the fleet, in force until it is released. Times are unix milliseconds. */
export const estopTable = defineTable('estops', {
  columns: {
    id: text(),
    scope: oneOf(EstopScope.options),
    /** Site, cell id or device id; undefined for `all`. */
    target: optional(text()),
    /** The only cell that it is for, such as the one on which it was engaged; undefined for others. */
    cell_id: optional(text()),
    /** Flag of a stop that was engaged on the machine of its cell. */
    is_local: flag(),
    engaged_at: time(),
    engaged_by: text(),
    reason: text(),
    /** Time of the release; undefined, like the two columns below, while the stop is in force. */
    released_at: optional(time()),
    released_by: optional(text()),
    release_reason: optional(text()),
  },
  key: ['id'],
  indexes: {
    estops_released: ['released_at'],
  },
})

export type Stop = EntityOf<typeof estopTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    estops: TableOf<typeof estopTable>
  }
}
