import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'

/** Limit of the remembered reasons; beyond it, all are logged again. */
const MAX_REASONS = 10_000

/** Reasons that this process has logged; each names its row. */
const logged = new Set<string>()

/** Logs a reason at its first occurrence: lists are read again and again. */
const logOnce = (logger: Pick<Logger, 'warn'>, reason: string): void => {
  if (logged.has(reason)) return
  if (logged.size >= MAX_REASONS) logged.clear()
  logged.add(reason)
  logger.warn({ reason }, 'a stored row cannot be read')
}

/**
 * Reads rows each by itself, for lists and starts: a row that is damaged, or has a word of a newer
 * version, is logged once and left out, so that the others are served. `read` is that of a table, or
 * calls it.
 */
export const readEach = <Row, Entity>(
  rows: readonly Row[],
  read: (row: Row) => Entity,
  logger: Pick<Logger, 'warn'> | undefined,
): Entity[] => {
  const entities: Entity[] = []
  for (const row of rows)
    try {
      entities.push(read(row))
    } catch (error) {
      if (!(error instanceof ShoalError)) throw error
      if (logger) logOnce(logger, error.message.slice(0, 300))
    }
  return entities
}

/** A page of a list; `select` returns at most `limit` rows, those that follow `last`. */
interface PageQuery<Row, Entity> {
  limit: number
  select: (limit: number, last: Row | undefined) => Promise<Row[]>
  read: (row: Row) => Entity
  logger: Pick<Logger, 'warn'>
}

/**
 * Reads a page as `readEach` does. Rows that are left out are replaced by those that follow: a page
 * that is not full is the last one.
 */
export const readPage = async <Row, Entity>({
  limit,
  select,
  read,
  logger,
}: PageQuery<Row, Entity>): Promise<Entity[]> => {
  const found: Entity[] = []
  let last: Row | undefined
  for (;;) {
    const missing = limit - found.length
    const rows = await select(missing, last)
    found.push(...readEach(rows, read, logger))
    last = rows.at(-1)
    if (rows.length < missing || found.length === limit) return found
  }
}
