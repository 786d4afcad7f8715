import { CompiledQuery, type Insertable, type Transaction } from 'kysely'
import type { InsertTarget } from '../engine.ts'

/** Rows per INSERT. */
const CHUNK = 64

/** Statements by number of rows: building one costs more than the insert itself. */
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
  return `insert into ${table} (${columns.join(', ')}) values ${values} on conflict (${key}) do nothing`
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
    const { numAffectedRows, insertId = 0n } = await trx.executeQuery(query)
    const isWhole = numAffectedRows === BigInt(chunk.length)
    const last = { rows: Number(numAffectedRows), rowid: Number(insertId) }
    const inserted = isWhole ? chunk : await readLast(trx, target, last)
    for (const row of inserted) keys.push(row[target.key])
  }
  return keys
}

/**
 * Reads the keys that an INSERT has added. RETURNING would cost every INSERT half as much again, and
 * new rows have consecutive row ids after all others (sqlite.org/autoinc.html).
 */
const readLast = async <T, N extends keyof T & string>(
  trx: Transaction<T>,
  { table, key }: InsertTarget<T, N>,
  { rows, rowid }: { rows: number; rowid: number },
): Promise<Record<string, unknown>[]> => {
  if (rows === 0) return []
  const text = `select ${key} from ${table} where rowid > ?`
  const found = await trx.executeQuery(CompiledQuery.raw(text, [rowid - rows]))
  return found.rows as Record<string, unknown>[]
}
