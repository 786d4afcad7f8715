import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'

/**
 * Reads rows each by itself, for lists and starts: a row that is damaged, or has a word of a newer
 * version, is logged and left out, so that the others are served. `read` is that of a table, or
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
      logger?.warn({ reason: error.message.slice(0, 300) }, 'a stored row cannot be read')
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
