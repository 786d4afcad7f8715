import { type Kysely, sql } from 'kysely'
import type { EngineSchema } from '../engine.ts'

const makeAppendOnly: EngineSchema['makeAppendOnly'] = async (db, table) => {
  for (const verb of ['update', 'delete']) {
    await sql`create trigger ${sql.ref(`${table}_no_${verb}`)}
      before ${sql.raw(verb)} on ${sql.table(table)}
      begin select raise(abort, ${sql.lit(`${table} is append-only`)}); end`.execute(db)
  }
}

const allowPurge: EngineSchema['allowPurge'] = async (db, { table, upTo }) => {
  await sql`drop trigger ${sql.ref(`${table}_no_delete`)}`.execute(db)
  await sql`create trigger ${sql.ref(`${table}_no_delete`)}
    before delete on ${sql.table(table)}
    when not exists (select 1 from ${sql.table(upTo)} where seq >= old.seq)
    begin select raise(abort, ${sql.lit(`${table} is append-only`)}); end`.execute(db)
  await sql`create trigger ${sql.ref(`${upTo}_no_delete`)}
    before delete on ${sql.table(upTo)}
    begin select raise(abort, ${sql.lit(`${upTo} stays`)}); end`.execute(db)
  await sql`create trigger ${sql.ref(`${upTo}_only_up`)}
    before update on ${sql.table(upTo)} when new.seq <= old.seq
    begin select raise(abort, ${sql.lit(`${upTo} only goes up`)}); end`.execute(db)
}

/** Every integer of SQLite has 64 bits (sqlite.org/datatype3.html, section 2). */
const widenIntegers = async (): Promise<void> => {}

export const sqliteSchema: EngineSchema = {
  makeAppendOnly,
  allowPurge,
  widenIntegers,
  makeUnlogged: async () => {},
  makeLogged: async () => {},
}

export const isAppendOnly = async <T>(db: Kysely<T>, table: string): Promise<boolean> => {
  const found = await sql<{ name: string }>`select name from sqlite_master
    where type = 'trigger' and tbl_name = ${table}`.execute(db)
  const names = found.rows.map(({ name }) => name)
  return ['update', 'delete'].every(verb => names.includes(`${table}_no_${verb}`))
}
