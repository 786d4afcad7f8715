import { type Kysely, sql } from 'kysely'
import type { EngineSchema } from '../engine.ts'

/** Creates a trigger with a function of its own, which has the same name. */
const createTrigger = async (
  db: Kysely<unknown>,
  { name, table, events, body }: { name: string; table: string; events: string; body: string },
): Promise<void> => {
  await sql`create function ${sql.ref(name)}() returns trigger language plpgsql as ${sql.lit(
    bodyOf(body),
  )}`.execute(db)
  const perRow = events.includes('truncate') ? 'statement' : 'row'
  await sql`create trigger ${sql.ref(name)} before ${sql.raw(events)} on ${sql.table(table)}
    for each ${sql.raw(perRow)} execute function ${sql.ref(name)}()`.execute(db)
}

const refuse = (message: string): string => `raise exception '${message}';`

const bodyOf = (statements: string): string => `begin ${statements} end`

const appendOnlyBody = (table: string): string => refuse(`${table} is append-only`)

const purgeBody = (table: string, upTo: string): string =>
  `if not exists (select 1 from "${upTo}" where seq >= old.seq)
      then ${appendOnlyBody(table)} end if; return old;`

const makeAppendOnly: EngineSchema['makeAppendOnly'] = async (db, table) => {
  const body = appendOnlyBody(table)
  for (const events of ['update', 'delete', 'truncate'])
    await createTrigger(db, { name: `${table}_no_${events}`, table, events, body })
}

const allowPurge: EngineSchema['allowPurge'] = async (db, { table, upTo }) => {
  await sql`drop function ${sql.ref(`${table}_no_delete`)} cascade`.execute(db)
  const body = purgeBody(table, upTo)
  await createTrigger(db, { name: `${table}_no_delete`, table, events: 'delete', body })
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

const widenIntegers: EngineSchema['widenIntegers'] = async db => {
  const { rows } = await sql<{ table: string; columns: string[] }>`
    select table_name as table, array_agg(column_name::text) as columns
    from information_schema.columns
    where table_schema = current_schema() and data_type = 'integer'
      and table_name not like 'kysely%'
    group by table_name`.execute(db)
  for (const { table, columns } of rows)
    await sql`alter table ${sql.table(table)} ${sql.join(
      columns.map(column => sql`alter column ${sql.ref(column)} type bigint`),
    )}`.execute(db)
}

const makeUnlogged: EngineSchema['makeUnlogged'] = async (db, table) => {
  await sql`alter table ${sql.table(table)} set unlogged`.execute(db)
}

const makeLogged: EngineSchema['makeLogged'] = async (db, table) => {
  await sql`alter table ${sql.table(table)} set logged`.execute(db)
}

export const postgresSchema: EngineSchema = {
  makeAppendOnly,
  allowPurge,
  widenIntegers,
  makeUnlogged,
  makeLogged,
}

/** Types of the triggers: before, for each row, and the event (PostgreSQL's `pg_trigger.h`). */
const TRIGGERS = { update: 19, delete: 11, truncate: 34 } as const

/** True when the triggers of the table are there, always run, and do what they were made to do. */
export const isAppendOnly = async <T>(db: Kysely<T>, table: string): Promise<boolean> => {
  const { rows } = await sql<{ name: string; type: number; body: string }>`
    select tgname as name, tgtype as type, prosrc as body
    from pg_trigger join pg_proc on pg_proc.oid = tgfoid
    where tgrelid = to_regclass(${table}) and not tgisinternal and tgenabled in ('O', 'A')
      and tgqual is null`.execute(db)
  const bodies = [appendOnlyBody(table), purgeBody(table, `${table}_checkpoint`)].map(bodyOf)
  return Object.entries(TRIGGERS).every(([verb, type]) => {
    const trigger = rows.find(({ name }) => name === `${table}_no_${verb}`)
    const allowed = verb === 'delete' ? bodies : bodies.slice(0, 1)
    return trigger?.type === type && allowed.includes(trigger.body)
  })
}
