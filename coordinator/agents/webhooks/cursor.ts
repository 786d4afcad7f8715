import type { Kysely } from 'kysely'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'

const NAME = 'webhooks'

/** Number of the last event that was put into the queue for all webhooks; 0 before the first. */
export const readCursor = async (db: Pick<Kysely<LedgerTables>, 'selectFrom'>): Promise<number> => {
  const query = db.selectFrom('event_cursors').select('seq').where('name', '=', NAME)
  return (await query.executeTakeFirst())?.seq ?? 0
}

/** Moves the cursor forward, never back. */
export const moveCursor = async (trx: SealedTrx, seq: number): Promise<void> => {
  await trx
    .insertInto('event_cursors')
    .values({ name: NAME, seq })
    .onConflict(conflict =>
      conflict.column('name').doUpdateSet({ seq }).where('event_cursors.seq', '<', seq),
    )
    .execute()
}
