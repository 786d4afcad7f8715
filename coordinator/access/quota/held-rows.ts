import type { Logger } from 'pino'
import { type Runtime, stopTimer } from '../../../shared/runtime.ts'

interface HeldRows<T> {
  /** Appends the row now or, while the disk takes nothing, later. Rejects when too many wait. */
  append(row: T): Promise<void>
  /** Tries what waits once more, and says how many rows wait then. */
  retry(): Promise<number>
  close(): Promise<void>
}

interface HeldRowsOptions<T> {
  append: (row: T) => Promise<void>
  /** True for a failure that may pass. */
  isPassing: (error: unknown) => boolean
  onFailure: (error: unknown) => void
  logger: Pick<Logger, 'warn'>
  runtime: Pick<Runtime, 'setInterval'>
  limit?: number
  everyMs?: number
}

/**
 * Buffers usage rows in memory, up to some megabytes, while the disk is full, since the usage has
 * already happened. Only a crash in that time loses them.
 */
export const holdRows = <T>(options: HeldRowsOptions<T>): HeldRows<T> => {
  const { append, isPassing, onFailure, logger, runtime, limit = 10_000, everyMs = 1000 } = options
  let held: T[] = []
  let told = false

  const keep = async (row: T): Promise<void> => {
    try {
      await append(row)
    } catch (error) {
      onFailure(error)
      if (!isPassing(error) || held.length >= limit) throw error
      if (!told) logger.warn({ err: error }, 'usage waits in memory for the disk')
      told = true
      held.push(row)
    }
  }
  const again = async (): Promise<number> => {
    const rows = held
    held = []
    await Promise.all(rows.map(keep))
    if (held.length === 0) told = false
    return held.length
  }
  // rows being written are invisible; readers wait for the end of the attempt
  let retrying: Promise<number> | undefined
  const retry = (): Promise<number> => {
    retrying ??= again().finally(() => {
      retrying = undefined
    })
    return retrying
  }
  const warn = (error: unknown): void => logger.warn({ err: error }, 'usage was not recorded')
  const timer = runtime
    .setInterval(() => {
      if (held.length > 0) retry().catch(warn)
    }, everyMs)
    .unref()

  return {
    append: keep,
    retry,
    close: async () => {
      stopTimer(timer)
      await retry().catch(warn)
      if (held.length > 0) logger.warn({ rows: held.length }, 'usage is lost: no room on the disk')
    },
  }
}
