import type { Logger } from 'pino'
import type { Signer } from '../../../shared/signing.ts'
import { NEEDS } from '../../../shared/wire/capability.ts'
import { type EstopBody, signEstop } from '../../../shared/wire/estop.ts'
import type { Cell } from '../../fleet/cells/cell.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import { isGone } from '../../fleet/cells/presence.ts'
import {
  type CellStops,
  createDocument,
  describeStops,
  isApplied,
  selectStops,
} from './document.ts'
import type { Stop } from './estop.table.ts'
import type { EstopReports } from './reports.ts'
import { concernsCell, type StoppedCell } from './stop.ts'
import type { Stops } from './stops.ts'

interface EstopSenderParts {
  stops: Stops
  reports: Pick<EstopReports, 'find' | 'hasLatched'>
  fleet: Pick<Fleet, 'cell' | 'cells'>
  signer: Signer
  /** Returns a promise for each cell, in order. */
  publish: (cellIds: readonly string[], document: EstopBody) => Promise<void>[]
  /** Unix milliseconds. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
  logger: Pick<Logger, 'warn'>
}

/** Time for a cell to answer a document before the same one is sent again, in milliseconds. */
const RESEND_MS = 5000

/** A cell and its next document; cells with equal content and version share one. */
interface PreparedCell {
  cell: Cell
  stops: CellStops
  content: string
  version: number
}

/** Sends each cell that is connected here its e-stops, until its report shows that it has them. */
export class EstopSender {
  readonly #parts: EstopSenderParts
  /** Newest document of each cell: its content, and when it left. */
  readonly #sent = new WeakMap<Cell, { content: string; atMs: number }>()

  constructor(parts: EstopSenderParts) {
    this.#parts = parts
  }

  /** Sends the documents of every cell that a stop concerns. Resolves when they have left. */
  async sendStop(stop: Stop): Promise<void> {
    await this.#sendTo(this.listConnected().filter(cell => concernsCell(stop, toStoppedCell(cell))))
  }

  /** Sends a document to every cell that does not report what is in force; call it every second. */
  async sendMissing(): Promise<void> {
    const { stops, reports } = this.#parts
    if (!stops.hasAny() && !reports.hasLatched()) return
    const missing = this.listConnected().filter(cell => !this.isConfirmed(cell))
    await this.#sendTo(missing.filter(cell => !this.#isUnderWay(cell)))
  }

  /** Answers a birth: the cell may have missed a stop, or a release. */
  async answerBirth(cellId: string): Promise<void> {
    const cell = this.#parts.fleet.cell(cellId)
    if (cell === undefined || !canStop(cell)) return
    if (this.#selectFor(cell).engaged.length > 0) await this.#sendTo([cell])
  }

  /** True when the cell has applied all stops and releases that this coordinator knows. */
  isConfirmed(cell: Cell): boolean {
    return isApplied(this.#selectFor(cell), this.#parts.reports.find(cell.id))
  }

  /** Cells that are connected here and support e-stops. */
  listConnected(): Cell[] {
    return [...this.#parts.fleet.cells()].filter(cell => isConnected(cell) && canStop(cell))
  }

  /** True while the cell may still answer a document with the same content. */
  #isUnderWay(cell: Cell): boolean {
    const sent = this.#sent.get(cell)
    if (sent === undefined || this.#parts.nowMs() - sent.atMs >= RESEND_MS) return false
    return sent.content === describeStops(this.#selectFor(cell))
  }

  #selectFor(cell: Cell): CellStops {
    const { stops, reports } = this.#parts
    return selectStops(stops, toStoppedCell(cell), reports.find(cell.id))
  }

  /** Signs each document once, however many cells need it. */
  async #sendTo(cells: readonly Cell[]): Promise<void> {
    const atMs = this.#parts.nowMs()
    const groups = Map.groupBy(
      cells.map(cell => this.#prepare(cell)),
      ({ version, content }) => `${version} ${content}`,
    )
    for (const { cell, content } of [...groups.values()].flat())
      this.#sent.set(cell, { content, atMs })
    await Promise.all([...groups.values()].map(same => this.#sendSame(same)))
  }

  #prepare(cell: Cell): PreparedCell {
    const { version: applied = 0 } = this.#parts.reports.find(cell.id) ?? {}
    const stops = this.#selectFor(cell)
    const version = Math.max(this.#parts.stops.version, applied)
    return { cell, stops, content: describeStops(stops), version }
  }

  /** A document that is lost is sent again: the report of the cell is missing then. Never rejects. */
  async #sendSame(same: readonly PreparedCell[]): Promise<void> {
    const [first] = same
    if (first === undefined) return
    const { signer, publish, now } = this.#parts
    const ids = same.map(({ cell }) => cell.id)
    const numbers = { version: first.version, now: now() }
    try {
      const document = signEstop(createDocument(ids, first.stops, numbers), signer)
      const sent = publish(ids, document).map((one, at) =>
        one.catch(error => this.#noteLost(ids[at], error)),
      )
      await Promise.all(sent)
    } catch (error) {
      this.#noteLost(`${ids[0]} and ${ids.length - 1} others`, error as Error)
    }
  }

  #noteLost(cell: string | undefined, { message }: Error): void {
    this.#parts.logger.warn({ cell, reason: message.slice(0, 300) }, 'e-stops not sent')
  }
}

export const isConnected = ({ presence }: Pick<Cell, 'presence'>): boolean =>
  presence !== 'unknown' && !isGone(presence)

/** True for a cell whose daemon supports e-stops. */
export const canStop = ({ announce }: Pick<Cell, 'announce'>): boolean =>
  (announce?.capability ?? 0) >= NEEDS.devices

export const toStoppedCell = ({ id, announce }: Pick<Cell, 'id' | 'announce'>): StoppedCell => ({
  id,
  hasDevice: deviceId => announce?.devices?.some(one => one.device_id === deviceId) ?? false,
})
