import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { SealedTransaction } from './lanes.ts'
import type { SequenceRow } from './sequence.table.ts'
import type { LedgerTables } from './tables.ts'

/** Everything that is numbered in one order over all processes. */
type SequenceName =
  | 'audit'
  | 'events'
  | 'jobs'
  | 'conversations'
  | 'configs'
  | 'estops'
  | 'policies'
  | 'devices'
  | 'discovery'
  | `command-fence:${string}`
  | `peer-fence:${string}`
  | `register-revision:${string}`

/**
 * The next number of a sequence, from 1, without gaps: a transaction that fails gives its numbers
 * back. `atLeast` lets a sequence jump ahead, as fences do that also follow the clock.
 */
export const nextSequence = async (
  trx: SealedTransaction<LedgerTables>,
  name: SequenceName,
  atLeast = 1,
): Promise<number> => {
  // as text, because every row of the audit pays for it: half the cost of a built statement
  const { rows } = await sql<SequenceRow>`${increment(name, atLeast)} returning value`.execute(trx)
  return (rows[0] as SequenceRow).value
}

/** The next number, and columns that are read before it is used, in one statement. */
export const nextSequenceWith = async <R>(
  trx: SealedTransaction<LedgerTables>,
  name: SequenceName,
  columns: RawBuilder<unknown>,
): Promise<R & Pick<SequenceRow, 'value'>> => {
  type Row = R & Pick<SequenceRow, 'value'>
  const { rows } = await sql<Row>`${increment(name, 1)} returning value, ${columns}`.execute(trx)
  return rows[0] as Row
}

const increment = (name: SequenceName, atLeast: number): RawBuilder<unknown> => sql`
  insert into sequences (name, value) values (${name}, ${atLeast})
  on conflict (name) do update set value = case
    when sequences.value >= ${atLeast} then sequences.value + 1 else ${atLeast} end`

/** Takes the next `count` numbers of a sequence and returns the last of them. */
export const takeNumbers = async (
  trx: SealedTransaction<LedgerTables>,
  name: SequenceName,
  count: number,
): Promise<number> => {
  const { rows } = await sql<SequenceRow>`
    insert into sequences (name, value) values (${name}, ${count})
    on conflict (name) do update set value = sequences.value + ${count}
    returning value`.execute(trx)
  return (rows[0] as SequenceRow).value
}

/** The last number that was given; 0 before the first. */
export const readLastNumber = async (
  db: Pick<Kysely<LedgerTables>, 'selectFrom'>,
  name: SequenceName,
): Promise<number> => {
  const query = db.selectFrom('sequences').select('value').where('name', '=', name)
  return (await query.executeTakeFirst())?.value ?? 0
}

/** Goes on from another number: for a person who accepts that rows are gone. */
export const restartSequence = async (
  trx: SealedTransaction<LedgerTables>,
  name: SequenceName,
  value: number,
): Promise<void> => {
  await trx
    .insertInto('sequences')
    .values({ name, value })
    .onConflict(conflict => conflict.column('name').doUpdateSet({ value }))
    .execute()
}
