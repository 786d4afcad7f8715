import { sql, type Transaction } from 'kysely'
import { selectLiveReplicas } from '../replicas/live-rows.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { replicaKeyTable } from './replica-key.table.ts'
import { EVEN_FROZEN } from './shared-secrets.ts'

/* Each coordinator publishes which keys its `sealing.key` has, for the rotation of that key. */

type ReplicaKeyLedger = Pick<Ledger, 'free'>

/** Publishes the ids of the keys, and removes the rows of coordinators that have gone. */
export const publishKeys = (
  { free }: ReplicaKeyLedger,
  replicaId: string,
  keyIds: readonly string[],
): Promise<void> =>
  free.write(async trx => {
    const row = replicaKeyTable.write({ replicaId, keyIds: [...keyIds] })
    await deleteGone(trx)
    await trx
      .insertInto('replica_keys')
      .values(row)
      .onConflict(conflict => conflict.column('replica_id').doUpdateSet(row))
      .execute()
  }, EVEN_FROZEN)

const deleteGone = async (trx: Transaction<LedgerTables>): Promise<void> => {
  await sql`delete from replica_keys where replica_id not in (select id from replicas)`.execute(trx)
}

export const unpublishKeys = async (
  { free }: ReplicaKeyLedger,
  replicaId: string,
): Promise<void> => {
  await free.write(
    trx => trx.deleteFrom('replica_keys').where('replica_id', '=', replicaId).execute(),
    EVEN_FROZEN,
  )
}

/** Returns the live coordinators whose `sealing.key` has no key with this id, or is not known yet. */
export const findReplicasWithout = async (
  trx: SealedTrx,
  keyId: string,
  now: number,
): Promise<{ id: string; address: string | null }[]> => {
  const rows = await selectLiveReplicas(trx, now)
    .leftJoin('replica_keys', 'replica_keys.replica_id', 'replicas.id')
    .select(['replicas.id', 'replicas.address', 'replica_keys.key_ids_json'])
    .orderBy('replicas.id')
    .execute()
  const { read } = replicaKeyTable.columns.key_ids_json
  return rows.filter(({ key_ids_json }) => !read(key_ids_json ?? '[]').includes(keyId))
}
