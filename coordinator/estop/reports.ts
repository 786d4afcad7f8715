import type { Logger } from 'pino'
import { EstoppedBody, isGenuineEstopped, type ReleasedStop } from '../../shared/wire/estop.ts'
import { Listeners } from '../base/listeners.ts'
import type { EstopReportRow } from '../store/estop-tables.ts'
import type { Ledger } from '../store/store.ts'

/** What a cell has latched, by its newest report. */
export interface EstopReport {
  cellId: string
  /** Version of the newest document that the cell has applied. */
  version: number
  latched: ReadonlySet<string>
  /** Stops that a person released on the machine, until a document names them as released. */
  released: ReadonlySet<string>
  /** Devices that did not confirm that they are at rest. */
  failed: readonly { device_id: string; reason: string }[]
  /** Unix milliseconds by the clock of the coordinator that received it. */
  reportedAt: number
}

interface EstopReportsParts {
  ledger: Ledger
  /** The public key with which the cell signs. */
  cellKey: (cellId: string) => Promise<string | undefined>
  /** Unix milliseconds. */
  now: () => number
  logger: Pick<Logger, 'warn'>
}

/** Failed devices that are kept of one cell. */
const MAX_FAILED = 32

/** A genuine report as it was received; only its summary is kept. */
export interface ReceivedReport {
  report: EstopReport
  latched: EstoppedBody['latched']
  released: readonly ReleasedStop[]
}

/** The newest report of each cell: in memory as far as it was received here, and in the store. */
export class EstopReports {
  /** Notified of every genuine report. */
  readonly received = new Listeners<[ReceivedReport]>()
  readonly #parts: EstopReportsParts
  readonly #newest = new Map<string, EstopReport>()
  readonly #unwritten = new Set<string>()
  readonly #keys = new Map<string, string>()
  readonly #newestArrival = new Map<string, number>()
  #arrivals = 0

  constructor(parts: EstopReportsParts) {
    this.#parts = parts
  }

  /** Reads what this and other coordinators have stored, for cells that are not connected here. */
  async load(): Promise<void> {
    const rows = await this.#parts.ledger.read.selectFrom('estop_reports').selectAll().execute()
    for (const report of rows.map(toReport)) {
      const known = this.#newest.get(report.cellId)
      if (known === undefined || known.reportedAt < report.reportedAt)
        this.#newest.set(report.cellId, report)
    }
  }

  find(cellId: string): EstopReport | undefined {
    return this.#newest.get(cellId)
  }

  list(): EstopReport[] {
    return [...this.#newest.values()]
  }

  /** True when a cell has a stop latched, or has released one. */
  hasLatched(): boolean {
    return this.list().some(({ latched, released }) => latched.size + released.size > 0)
  }

  forget(cellId: string): void {
    this.#newest.delete(cellId)
    this.#unwritten.delete(cellId)
    this.#keys.delete(cellId)
    this.#newestArrival.delete(cellId)
  }

  /** Receives a body of the `estopped` topic; one that the cell has not signed is dropped. */
  async receive(cellId: string, given: unknown): Promise<void> {
    const body = EstoppedBody.parse(given)
    const arrival = ++this.#arrivals
    if (!(await this.#isGenuine(cellId, body))) {
      this.#parts.logger.warn({ cell: cellId }, 'an e-stop report is not signed by the cell')
      return
    }
    // checks may end in another order than that of the reports
    if (arrival < (this.#newestArrival.get(cellId) ?? 0)) return
    this.#newestArrival.set(cellId, arrival)
    const { version, latched, released = [] } = body
    const report: EstopReport = {
      cellId,
      version,
      latched: new Set(latched.map(({ estop_id }) => estop_id)),
      released: new Set(released.map(({ estop_id }) => estop_id)),
      failed: latched.flatMap(({ failed }) => failed).slice(0, MAX_FAILED),
      reportedAt: this.#parts.now(),
    }
    this.#newest.set(cellId, report)
    this.#unwritten.add(cellId)
    this.received.notify({ report, latched, released })
  }

  /** A cell has one key for life. */
  async #isGenuine(cellId: string, body: EstoppedBody): Promise<boolean> {
    const key = this.#keys.get(cellId) ?? (await this.#parts.cellKey(cellId))
    if (key === undefined || body.cell_id !== cellId) return false
    this.#keys.set(cellId, key)
    return isGenuineEstopped(body, key)
  }

  /** Stores the reports that are not stored yet; a failed write is repeated with the next call. */
  async flush(): Promise<void> {
    const rows = [...this.#unwritten].flatMap(id => {
      const report = this.#newest.get(id)
      return report === undefined ? [] : toReportRow(report)
    })
    this.#unwritten.clear()
    for (let at = 0; at < rows.length; at += BATCH)
      await this.#write(rows.slice(at, at + BATCH)).catch(error => {
        for (const { cell_id } of rows.slice(at)) this.#unwritten.add(cell_id)
        throw error
      })
  }

  #write(rows: EstopReportRow[]): Promise<void> {
    return this.#parts.ledger.free.write(async trx => {
      await trx
        .insertInto('estop_reports')
        .values(rows)
        .onConflict(conflict =>
          conflict.column('cell_id').doUpdateSet(row => ({
            version: row.ref('excluded.version'),
            latched_json: row.ref('excluded.latched_json'),
            failed_json: row.ref('excluded.failed_json'),
            reported_at: row.ref('excluded.reported_at'),
          })),
        )
        .execute()
    })
  }
}

/** Rows per transaction, so that none holds the lane for long. */
const BATCH = 200

const toReport = (row: EstopReportRow): EstopReport => ({
  cellId: row.cell_id,
  version: row.version,
  latched: new Set(JSON.parse(row.latched_json)),
  released: new Set(),
  failed: JSON.parse(row.failed_json),
  reportedAt: row.reported_at,
})

const toReportRow = (report: EstopReport): EstopReportRow => ({
  cell_id: report.cellId,
  version: report.version,
  latched_json: JSON.stringify([...report.latched]),
  failed_json: JSON.stringify(report.failed),
  reported_at: report.reportedAt,
})
