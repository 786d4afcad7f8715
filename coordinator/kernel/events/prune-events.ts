import { readLastNumber } from '../store/sequences.ts'
import type { Ledger } from '../store/store.ts'

/** Events kept for a reader with a cursor that has not handled them, beyond those for all readers. */
const KEPT_FOR_CURSORS = 100_000
const ROWS_PER_DELETE = 1000

/** Deletes all but the newest events, except what a cursor has not reached. */
export const pruneEvents = async (ledger: Ledger, kept: number): Promise<void> => {
  const last = await readLastNumber(ledger.read, 'events')
  const cursors = await ledger.read.selectFrom('event_cursors').select('seq').execute()
  const handled = Math.min(last, ...cursors.map(({ seq }) => seq))
  const until = Math.max(Math.min(last - kept, handled), last - kept - KEPT_FOR_CURSORS)
  for (;;) {
    const oldest = await ledger.read
      .selectFrom('events')
      .select('seq')
      .where('seq', '<=', until)
      .orderBy('seq')
      .limit(1)
      .executeTakeFirst()
    if (oldest === undefined) return
    const upTo = Math.min(until, oldest.seq + ROWS_PER_DELETE)
    await ledger.free.write(trx => trx.deleteFrom('events').where('seq', '<=', upTo).execute())
  }
}
