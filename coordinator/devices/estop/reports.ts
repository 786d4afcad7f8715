import type { Logger } from 'pino'
import {
  EstoppedBody,
  type EstoppedDevice,
  isGenuineEstopped,
  type ReleasedStop,
} from '../../../shared/wire/estop.ts'
import { Listeners } from '../../kernel/base/listeners.ts'
import { shareRuns } from '../../kernel/base/share-runs.ts'
import type { EntityOf, RowOf } from '../../kernel/store/define-table.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import { estopReportTable } from './estop-report.table.ts'

/** Stops that a cell has latched, by its newest report. */
export interface EstopReport extends Omit<EntityOf<typeof estopReportTable>, 'latched'> {
  latched: ReadonlySet<string>
  /** Stops that a person released on the machine, until a document names them as released. */
  released: ReadonlySet<string>
  /** Held devices of cells that reported here, with the operations asked and the state observed. */
  devices: readonly EstoppedDevice[]
}

interface EstopReportsParts {
  ledger: Ledger
  /** Reads the keys with which cells sign. */
  readKeys: (cellIds: readonly string[]) => Promise<ReadonlyMap<string, string>>
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
  /** Listeners to every genuine report. */
  readonly received = new Listeners<[ReceivedReport]>()
  readonly #parts: EstopReportsParts
  readonly #newest = new Map<string, EstopReport>()
  readonly #unwritten = new Set<string>()
  readonly #keys = new Map<string, string>()
  /** Newest reports whose signatures are not checked yet, by cell. */
  readonly #unchecked = new Map<string, EstoppedBody>()
  readonly #check: () => Promise<void>

  constructor(parts: EstopReportsParts) {
    this.#parts = parts
    this.#check = shareRuns(() => this.#checkAll())
  }

  /** Reads what this and other coordinators have stored, for cells that are not connected here. */
  async load(): Promise<void> {
    const rows = await this.#parts.ledger.read.selectFrom('estop_reports').selectAll().execute()
    for (const report of rows.flatMap(row => this.#toReport(row) ?? [])) {
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
    this.#unchecked.delete(cellId)
  }

  /**
   * Receives a body of the `estopped` topic; one that the cell has not signed is dropped. A report is
   * the whole state of a cell, so a newer one replaces one that is not checked yet.
   */
  async receive(cellId: string, given: unknown): Promise<void> {
    this.#unchecked.set(cellId, EstoppedBody.parse(given))
    await this.#check()
  }

  /** Checks few signatures at a time: a fleet that answers at once must not fill the threads. */
  async #checkAll(): Promise<void> {
    while (this.#unchecked.size > 0) {
      const batch = [...this.#unchecked].slice(0, CHECKS)
      for (const [cellId] of batch) this.#unchecked.delete(cellId)
      await this.#learnKeys(batch.map(([cellId]) => cellId))
      const checks = await Promise.all(batch.map(([id, body]) => this.#isGenuine(id, body)))
      for (const [at, [cellId, body]] of batch.entries())
        if (checks[at]) this.#accept(cellId, body)
        else
          this.#parts.logger.warn(
            { cell: cellId },
            'an e-stop report has no valid signature of the cell',
          )
    }
  }

  /** A report that cannot be read is left out: its cell sends the next one when it connects. */
  #toReport(row: Row): EstopReport | undefined {
    try {
      return toReport(row)
    } catch (error) {
      const { message } = error as Error
      this.#parts.logger.warn({ reason: message }, 'a stored e-stop report cannot be read')
      return undefined
    }
  }

  #accept(cellId: string, { version, latched, released = [], devices = [] }: EstoppedBody): void {
    const report: EstopReport = {
      cellId,
      version,
      latched: new Set(latched.map(({ estop_id }) => estop_id)),
      released: new Set(released.map(({ estop_id }) => estop_id)),
      failed: latched.flatMap(({ failed }) => failed).slice(0, MAX_FAILED),
      devices,
      reportedAt: this.#parts.now(),
    }
    this.#newest.set(cellId, report)
    this.#unwritten.add(cellId)
    this.received.notify({ report, latched, released })
  }

  /** A cell has one key for life. */
  async #learnKeys(cellIds: readonly string[]): Promise<void> {
    const missing = cellIds.filter(id => !this.#keys.has(id))
    if (missing.length === 0) return
    try {
      for (const [id, key] of await this.#parts.readKeys(missing)) this.#keys.set(id, key)
    } catch (error) {
      const reason = (error as Error).message.slice(0, 300)
      this.#parts.logger.warn({ reason }, 'keys of cells could not be read')
    }
  }

  async #isGenuine(cellId: string, body: EstoppedBody): Promise<boolean> {
    const key = this.#keys.get(cellId)
    return key !== undefined && body.cell_id === cellId && (await isGenuineEstopped(body, key))
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

  #write(rows: Row[]): Promise<void> {
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

/** Reports whose signatures are checked at the same time. */
const CHECKS = 32
/** Rows per transaction, so that none holds the lane for long. */
const BATCH = 200

type Row = RowOf<typeof estopReportTable>

const toReport = (row: Row): EstopReport => {
  const stored = estopReportTable.read(row)
  return { ...stored, latched: new Set(stored.latched), released: new Set(), devices: [] }
}

const toReportRow = (report: EstopReport): Row =>
  estopReportTable.write({ ...report, latched: [...report.latched] })
