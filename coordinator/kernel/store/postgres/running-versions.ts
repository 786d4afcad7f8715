import { sql, type Transaction } from 'kysely'

/**
 * Versions of the coordinators that are registered and alive. The table is locked against further
 * ones until the end of the transaction; one that registers afterwards reads the schema again.
 */
export const listRunningVersions = async <T>(trx: Transaction<T>): Promise<string[]> => {
  const { rows: found } = await sql<{ exists: boolean }>`
    select to_regclass('replicas') is not null as exists`.execute(trx)
  if (found[0]?.exists !== true) return []
  await sql`lock table replicas in share row exclusive mode`.execute(trx)
  const { rows } = await sql<{ version: string }>`select distinct version from replicas
    where until > extract(epoch from clock_timestamp()) * 1000`.execute(trx)
  return rows.map(({ version }) => version)
}
