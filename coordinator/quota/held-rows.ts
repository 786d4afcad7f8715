import type { Logger } from 'pino'

export interface HeldRows<T> {
  /** Appends the row now or, while the disk takes nothing, later. Rejects when too many wait. */
  append(row: T): Promise<void>
  /** Tries what waits once more. */
  retry(): Promise<void>
  close(): Promise<void>
}

export interface HeldRowsOptions<T> {
  append: (row: T) => Promise<void>
  /** True for a failure that may pass. */
  isPassing: (error: unknown) => boolean
  logger: Pick<Logger, 'warn'>
  limit?: number
  everyMs?: number
}

/**
 * What was used while the disk was full has been used: it waits in memory, some megabytes of it,
 * until the disk takes it. Only the death of the process in that time loses it.
 */
export const holdRows = <T>(options: HeldRowsOptions<T>): HeldRows<T> => {
  const { append, isPassing, logger, limit = 10_000, everyMs = 1000 } = options
  let held: T[] = []

  const keep = async (row: T): Promise<void> => {
    try {
      await append(row)
    } catch (error) {
      if (!isPassing(error) || held.length >= limit) throw error
      if (held.length === 0) logger.warn({ err: error }, 'usage waits in memory for the disk')
      held.push(row)
    }
  }
  const retry = async (): Promise<void> => {
    const rows = held
    held = []
    await Promise.all(rows.map(keep))
  }
  const warn = (error: unknown): void => logger.warn({ err: error }, 'usage was not recorded')
  const timer = setInterval(() => {
    if (held.length > 0) retry().catch(warn)
  }, everyMs).unref()

  return {
    append: keep,
    retry,
    close: async () => {
      clearInterval(timer)
      await retry().catch(warn)
      if (held.length > 0) logger.warn({ rows: held.length }, 'usage is lost: no room on the disk')
    },
  }
}
