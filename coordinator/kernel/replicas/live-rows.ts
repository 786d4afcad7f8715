import type { Kysely } from 'kysely'
import type { LedgerTables } from '../store/tables.ts'

/** Coordinators whose rows had not run out at a time, unix milliseconds by the clock of the store. */
export const selectLiveReplicas = (db: Kysely<LedgerTables>, at: number) =>
  db.selectFrom('replicas').where('replicas.until', '>', at)

/** Row of a coordinator that is live; what it has claimed may be taken over where there is none. */
export const selectLiveReplica = (db: Kysely<LedgerTables>, id: string, at: number) =>
  selectLiveReplicas(db, at).select('replicas.id').where('replicas.id', '=', id)
