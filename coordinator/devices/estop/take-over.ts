import type { Logger } from 'pino'
import { shareRuns } from '../../kernel/base/share-runs.ts'
import type { Stop } from './estop.table.ts'
import type { ReceivedReport } from './reports.ts'
import { IN_FORCE } from './stop.ts'
import type { Stops } from './stops.ts'
import type { StopWriter } from './writer.ts'

interface TakeOverParts {
  stops: Stops
  writer: StopWriter
  /** Monotonic milliseconds. */
  nowMs: () => number
  logger: Pick<Logger, 'warn'>
}

/** Most stops in force that one cell can bring into the store. */
const MAX_PER_CELL = 40
/** Time in which the coordinator that engaged an unknown stop of the fleet stores it itself. */
const UNKNOWN_MS = 5000

interface WaitingReport extends ReceivedReport {
  receivedMs: number
}

/**
 * Brings the store in line with what cells report: stops that were engaged or released on a machine,
 * and stops of a coordinator that ended before it could store them. What a cell reports is only ever
 * a stop of that cell.
 */
export class StopTakeOver {
  readonly #parts: TakeOverParts
  readonly #waiting = new Map<string, WaitingReport>()
  readonly #run: () => Promise<void>

  constructor(parts: TakeOverParts) {
    this.#parts = parts
    this.#run = shareRuns(() => this.#takeAll())
  }

  note(received: ReceivedReport): void {
    this.#waiting.set(received.report.cellId, { ...received, receivedMs: this.#parts.nowMs() })
    void this.run()
  }

  /** Goes through the reports that are not settled yet; call it every second. Never rejects. */
  run(): Promise<void> {
    return this.#run()
  }

  async #takeAll(): Promise<void> {
    for (const [cellId, waiting] of this.#waiting)
      try {
        const isSettled = await this.#take(waiting)
        if (isSettled && this.#waiting.get(cellId) === waiting) this.#waiting.delete(cellId)
      } catch (error) {
        const reason = (error as Error).message
        this.#parts.logger.warn({ cell: cellId, reason }, 'the e-stops of a cell were not stored')
      }
  }

  /** Returns false while an unknown stop of the fleet may still be stored by its coordinator. */
  async #take({ report, latched, released, receivedMs }: WaitingReport): Promise<boolean> {
    const { stops, nowMs } = this.#parts
    await this.#releaseEnded(report.cellId, released)
    const unknown = new Set(await stops.learn([...report.latched]))
    if (unknown.size === 0) return true
    const isLate = nowMs() - receivedMs >= UNKNOWN_MS
    const due = latched.filter(one => unknown.has(one.estop_id) && (one.is_local || isLate))
    for (const stop of due) await this.#adopt(report.cellId, stop)
    if (due.length > 0) await stops.refresh()
    return isLate || due.length === unknown.size
  }

  async #adopt(cellId: string, given: ReceivedReport['latched'][number]): Promise<void> {
    const { stops, writer, logger } = this.#parts
    const own = stops.listInForce().filter(stop => stop.cellId === cellId)
    if (own.length >= MAX_PER_CELL) {
      logger.warn({ cell: cellId, estop: given.estop_id }, 'too many e-stops of one cell')
      return
    }
    await writer.engage(toOwnStop(cellId, given), { actor: `cell:${cellId}` }, 'take_over')
    await stops.refresh()
  }

  /** Releases stops that a person has released on the machine; they may be new here. */
  async #releaseEnded(cellId: string, released: ReceivedReport['released']): Promise<void> {
    const { stops, writer } = this.#parts
    const unknown = await stops.learn(released.map(({ estop_id }) => estop_id))
    const by = { actor: `cell:${cellId}` }
    for (const { estop_id: id, released_at: at, released_by, reason } of released) {
      if (unknown.includes(id)) {
        const given = { engaged_at: at, engaged_by: released_by, scope: 'cell' as const }
        const stop = { ...given, estop_id: id, reason: UNSEEN, target: null, is_local: true }
        await writer.engage(toOwnStop(cellId, stop), by, 'take_over')
        await stops.learn([id])
      }
      const known = stops.find(id)
      if (known?.cellId !== cellId || !known.isLocal || known.releasedAt !== undefined) continue
      const release = { releasedAt: at, releasedBy: released_by, releaseReason: reason }
      await writer.release(id, release, by)
      await stops.refresh()
    }
  }
}

/** Reason of a stop that ended before the coordinator learned of it. */
const UNSEEN = 'engaged on the machine while it was not connected'

/** A stop that a cell reports: whatever it says, it is only one of that cell. */
const toOwnStop = (
  cellId: string,
  given: Omit<ReceivedReport['latched'][number], 'failed'>,
): Stop => {
  const isDevice = given.scope === 'device'
  return {
    id: given.estop_id,
    scope: isDevice ? 'device' : 'cell',
    target: isDevice ? (given.target ?? undefined) : cellId,
    cellId,
    isLocal: given.is_local,
    engagedAt: given.engaged_at,
    engagedBy: given.engaged_by,
    reason: given.reason,
    ...IN_FORCE,
  }
}
