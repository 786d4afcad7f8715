import { type Kysely, sql } from 'kysely'
import type { EngineSchema } from '../engine.ts'

/** Creates a trigger with a function of its own, which has the same name. */
const createTrigger = async (
  db: Kysely<unknown>,
  { name, table, events, body }: { name: string; table: string; events: string; body: string },
): Promise<void> => {
  await sql`create function ${sql.ref(name)}() returns trigger language plpgsql as ${sql.lit(
    `begin ${body} end`,
  )}`.execute(db)
  const perRow = events.includes('truncate') ? 'statement' : 'row'
  await sql`create trigger ${sql.ref(name)} before ${sql.raw(events)} on ${sql.table(table)}
    for each ${sql.raw(perRow)} execute function ${sql.ref(name)}()`.execute(db)
}

const refuse = (message: string): string => `raise exception '${message}';`

const makeAppendOnly: EngineSchema['makeAppendOnly'] = async (db, table) => {
  const body = refuse(`${table} is append-only`)
  for (const events of ['update', 'delete', 'truncate'])
    await createTrigger(db, { name: `${table}_no_${events}`, table, events, body })
}

const allowPurge: EngineSchema['allowPurge'] = async (db, { table, upTo }) => {
  await sql`drop function ${sql.ref(`${table}_no_delete`)} cascade`.execute(db)
  await createTrigger(db, {
    name: `${table}_no_delete`,
    table,
    events: 'delete',
    body: `if not exists (select 1 from "${upTo}" where seq >= old.seq)
      then ${refuse(`${table} is append-only`)} end if; return old;`,
  })
  const stays = refuse(`${upTo} stays`)
  for (const events of ['delete', 'truncate'])
    await createTrigger(db, { name: `${upTo}_no_${events}`, table: upTo, events, body: stays })
  await createTrigger(db, {
    name: `${upTo}_only_up`,
    table: upTo,
    events: 'update',
    body: `if new.seq <= old.seq then ${refuse(`${upTo} only goes up`)} end if; return new;`,
  })
}

const makeUnlogged: EngineSchema['makeUnlogged'] = async (db, table) => {
  await sql`alter table ${sql.table(table)} set unlogged`.execute(db)
}

export const postgresSchema: EngineSchema = { makeAppendOnly, allowPurge, makeUnlogged }

export const isAppendOnly = async <T>(db: Kysely<T>, table: string): Promise<boolean> => {
  const { rows } = await sql<{ name: string }>`select tgname as name from pg_trigger
    where tgrelid = to_regclass(${table}) and not tgisinternal and tgenabled in ('O', 'A')`.execute(
    db,
  )
  const names = rows.map(({ name }) => name)
  return ['update', 'delete', 'truncate'].every(verb => names.includes(`${table}_no_${verb}`))
}
