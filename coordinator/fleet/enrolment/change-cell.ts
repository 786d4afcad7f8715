import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { Events } from '../../kernel/events/bus.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import { cellTable, type StoredCell } from './cell.table.ts'
import { requireCell } from './cell-rows.ts'

interface CellChange {
  fields: Partial<StoredCell>
  /** Event to report; false when another coordinator has already made the change. */
  event: false | { type: string; data: object }
}

export interface AuditedCellChange {
  entry: Actor & { action: string; details?: Record<string, unknown> }
  change: (cell: StoredCell) => CellChange
}

interface ChangeParts {
  ledger: Pick<Ledger, 'sealed'>
  addEvents: Events['addWithin']
  /** Unix time, milliseconds. */
  now: () => number
}

/** Makes one audited change of one cell, and reports it where it is news. Throws `not_found`. */
export const changeCell = (
  { ledger, addEvents, now }: ChangeParts,
  cellId: string,
  { entry, change }: AuditedCellChange,
): Promise<StoredCell> =>
  ledger.sealed.write(async trx => {
    const before = await requireCell(trx, cellId)
    const { fields, event } = change(before)
    const values = cellTable.writeSome(fields)
    await trx.updateTable('cells').set(values).where('id', '=', cellId).execute()
    await bumpRevision(trx, 'cells')
    await appendAudit(trx, { ...entry, at: now(), subject: cellId, outcome: 'done' })
    if (event)
      await addEvents(trx, [
        { type: `shoal.cell.${event.type}`, data: event.data, subject: cellId },
      ])
    return { ...before, ...fields }
  })
