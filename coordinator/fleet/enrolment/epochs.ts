import type { Logger } from 'pino'
import type { CallAfter } from '../../../shared/runtime.ts'
import type { Cells } from './cells.ts'

/**
 * Interval between writes; a whole fleet announces births at once after a restart, and a commit
 * costs milliseconds.
 */
const FLUSH_EVERY_MS = 250

interface EpochsOptions {
  noteEpoch: Cells['noteEpoch']
  logger: Pick<Logger, 'error'>
  callAfter: CallAfter
}

/** Stores the highest boot epoch of each cell, many cells per commit. */
export interface Epochs {
  note(cellId: string, epoch: number): void
  /** Writes all pending epochs. */
  flush(): Promise<void>
}

export const createEpochs = ({ noteEpoch, logger, callAfter }: EpochsOptions): Epochs => {
  let waiting = new Map<string, number>()

  const keep = (cellId: string, epoch: number): Promise<unknown> =>
    noteEpoch(cellId, epoch).catch(error =>
      logger.error({ err: error, cell: cellId }, 'epoch not kept'),
    )

  const flush = async (): Promise<void> => {
    const now = waiting
    waiting = new Map()
    await Promise.all([...now].map(([cellId, epoch]) => keep(cellId, epoch)))
  }

  const note = (cellId: string, epoch: number): void => {
    if (waiting.size === 0) callAfter(FLUSH_EVERY_MS, () => void flush())
    waiting.set(cellId, Math.max(epoch, waiting.get(cellId) ?? 0))
  }

  return { note, flush }
}
