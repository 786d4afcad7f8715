import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'

/* Counts and sums that every engine answers with a number; PostgreSQL widens both to text. */

/** `count(*)`, for a selection with groups. */
export const countAll: RawBuilder<number> = sql`cast(count(*) as integer)`

/** Sum of a column of whole numbers; 0 over no rows. */
export const sumOf = (column: string): RawBuilder<number> =>
  sql`cast(coalesce(sum(${sql.ref(column)}), 0) as bigint)`

/** Number of rows that match a query without a selection. */
export const countMatchingRows = async <DB, TB extends keyof DB>(
  query: SelectQueryBuilder<DB, TB, object>,
): Promise<number> => {
  const counted = query.select(countAll.as('rows')) as SelectQueryBuilder<DB, TB, { rows: number }>
  return (await counted.executeTakeFirstOrThrow()).rows
}
