import { join } from 'node:path'
import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import { Journal, readJournal } from '../../kernel/store/journal.ts'
import { holdRows } from './held-rows.ts'
import { type NewUsage, requireNumbers, type UsageRow, type UsageStore } from './usage.ts'

/** Folder of the rows that wait for their table, in files of one JSON value per line. */
export const usageJournalFolder = (stateDir: string): string => join(stateDir, 'usage-journal')

/** Rows that wait for their table, one per line, also while a coordinator appends more. */
export const readUsageJournal = (stateDir: string): Promise<string> =>
  readJournal(usageJournalFolder(stateDir))

export interface JournaledUsage extends Pick<UsageStore, 'record' | 'sums'> {
  /** Resolves when every row that was recorded before is in the table. Rejects while one waits for the disk. */
  settle(): Promise<void>
  close(): Promise<void>
}

interface JournalOptions {
  stateDir: string
  logger: Pick<Logger, 'warn' | 'error'>
  runtime: Pick<Runtime, 'setInterval' | 'setImmediate' | 'ids'>
  /** Runs when a row could not be written to the disk. */
  onFailure?: (error: unknown) => void
}

/**
 * Usage whose rows are safe from the death of this process as soon as they are recorded, and in
 * their table within a moment. Sums see every row. One process at a time serves from a folder.
 */
export const journalUsage = async (
  usage: UsageStore,
  { stateDir, logger, runtime, onFailure = () => {} }: JournalOptions,
): Promise<JournaledUsage> => {
  const journal = await Journal.open<UsageRow>({
    folder: usageJournalFolder(stateDir),
    carry: rows => carryOver(usage, rows, logger),
    onCarried: () => usage.anchor(),
    logger,
    runtime,
  })
  const held = holdRows<UsageRow>({
    append: row => journal.append(row),
    isPassing,
    onFailure,
    logger,
    runtime,
  })
  const settle = async (): Promise<void> => {
    const waiting = await held.retry()
    if (waiting > 0)
      throw new ShoalError('store_unavailable', `${waiting} rows of usage wait for the disk`)
    await journal.drain()
  }
  return {
    record: async row => {
      requireNumbers(row)
      // the id makes a row that comes twice one row
      await held.append({ id: runtime.ids.create('use', row.at), ...row })
    },
    sums: async filter => {
      await settle()
      return usage.sums(filter)
    },
    settle,
    close: async () => {
      await held.close()
      await journal.close()
    },
  }
}

/** Writes rows at once; when one of them is refused, one by one, so that it takes no other along. */
const carryOver = async (
  usage: UsageStore,
  rows: UsageRow[],
  logger: Pick<Logger, 'error'>,
): Promise<void> => {
  try {
    await usage.recordRows(rows)
    return
  } catch (error) {
    if (isPassing(error)) throw error
  }
  for (const row of rows) await carryAlone(usage, row, logger)
}

const carryAlone = async (
  usage: UsageStore,
  row: NewUsage,
  logger: Pick<Logger, 'error'>,
): Promise<void> => {
  try {
    await usage.record(row)
  } catch (error) {
    if (isPassing(error)) throw error
    logger.error({ err: error, row }, 'a row of usage is not accepted')
  }
}

const isPassing = (error: unknown): boolean =>
  error instanceof ShoalError && error.code === 'store_unavailable'
