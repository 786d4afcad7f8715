import { CompiledQuery, type Insertable, type Transaction } from 'kysely'
import type { InsertTarget } from '../engine.ts'

/** Rows per INSERT. */
const CHUNK = 64

/** Written once for each number of rows: to build a statement costs more than the insert itself. */
const statements = new WeakMap<object, Map<number, string>>()

const statementFor = <T, N extends keyof T & string>(
  target: InsertTarget<T, N>,
  rows: number,
): string => {
  const known = statements.get(target) ?? new Map<number, string>()
  statements.set(target, known)
  const text = known.get(rows) ?? textOf(target, rows)
  known.set(rows, text)
  return text
}

const textOf = <T, N extends keyof T & string>(
  { table, key, columns }: InsertTarget<T, N>,
  rows: number,
): string => {
  const places = `(${columns.map(() => '?').join(', ')})`
  const values = Array.from({ length: rows }, () => places).join(', ')
  return `insert into ${table} (${columns.join(', ')}) values ${values} on conflict (${key}) do nothing returning ${key}`
}

export const insertNew = async <T, N extends keyof T & string>(
  trx: Transaction<T>,
  target: InsertTarget<T, N>,
  rows: readonly Insertable<T[N]>[],
): Promise<unknown[]> => {
  const keys: unknown[] = []
  for (let at = 0; at < rows.length; at += CHUNK) {
    const chunk = rows.slice(at, at + CHUNK) as Record<string, unknown>[]
    const values = chunk.flatMap(row => target.columns.map(name => row[name]))
    const query = CompiledQuery.raw(statementFor(target, chunk.length), values)
    const inserted = (await trx.executeQuery(query)).rows as Record<string, unknown>[]
    for (const row of inserted) keys.push(row[target.key])
  }
  return keys
}
