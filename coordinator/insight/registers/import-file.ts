import { ShoalError } from '../../../shared/errors.ts'
import { firstIssue } from '../../../shared/first-issue.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { createSlices } from '../../kernel/base/time-slices.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { FileFormat } from './files/file-format.ts'
import { readFile } from './files/read-file.ts'
import { FaultList, type LineFault } from './import-report.ts'
import {
  deleteExampleRows,
  deleteRows,
  type Place,
  selectRecords,
  upsertRecords,
} from './record-rows.ts'
import type { Register } from './register.ts'

/** A file with records. */
export interface RecordFile {
  format: FileFormat
  /** Reads it from its beginning, each time. */
  open: () => AsyncIterable<Uint8Array>
  sha256: string
}

export interface ImportOptions {
  tenantId: string
  by: Actor
  /** `replace` deletes the records that the file lacks. */
  mode: 'merge' | 'replace'
  /** Validates the file and changes nothing. */
  isDryRun: boolean
  signal?: AbortSignal
}

export interface ImportReport {
  records: number
  isApplied: boolean
  added: number
  replaced: number
  removed: number
  /** Records of the example organisation that the import took the place of. */
  examplesRemoved: number
  faultCount: number
  /** The first faults. */
  faults: LineFault[]
}

interface ImportParts {
  ledger: Ledger
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'ids'>
}

const BATCH_ROWS = 500
const MAX_RECORDS = 500_000

/**
 * Imports a file into a register. The whole file is validated first: one invalid record refuses all
 * of them. Valid records are written in batches, so that other writes get their turn between; an
 * import that a crash cuts off can be repeated. Throws `invalid_request` with the first lines.
 */
export const importFile = async (
  parts: ImportParts,
  register: Register,
  file: RecordFile,
  options: ImportOptions,
): Promise<ImportReport> => {
  const faults = new FaultList()
  const records = await validateFile(register, file, faults, options.signal)
  const checked = { records, faultCount: faults.count, faults: faults.faults }
  if (options.isDryRun) return { ...NOTHING, ...checked }
  if (faults.count > 0) throw faults.toError()
  return {
    ...checked,
    isApplied: true,
    ...(await applyFile(parts, register, file, options, records)),
  }
}

const NOTHING = { isApplied: false, added: 0, replaced: 0, removed: 0, examplesRemoved: 0 }

/** Returns the number of records, valid or not. */
const validateFile = async (
  { record: schema }: Register,
  file: RecordFile,
  faults: FaultList,
  signal: AbortSignal | undefined,
): Promise<number> => {
  const lines = new Map<string, number>()
  const pause = createSlices()
  let records = 0
  for await (const { line, value, fault } of readFile(file.open(), file.format, schema)) {
    await pause()
    signal?.throwIfAborted()
    records++
    if (records > MAX_RECORDS) {
      faults.add({ line, param: null, message: `the file has more than ${MAX_RECORDS} records` })
      break
    }
    const found =
      fault === undefined ? recordFault(schema, value, lines) : { param: null, message: fault }
    if (found !== undefined) faults.add({ line, ...found })
    else lines.set((value as { id: string }).id, line)
  }
  if (records === 0) throw new ShoalError('invalid_request', 'the file has no records')
  return records
}

const recordFault = (
  schema: Register['record'],
  value: unknown,
  lines: ReadonlyMap<string, number>,
): Omit<LineFault, 'line'> | undefined => {
  const { data, error } = schema.safeParse(value)
  if (error !== undefined) {
    const { param = null, message } = firstIssue(error, value)
    return { param, message }
  }
  const before = lines.get(data.id as string)
  if (before === undefined) return undefined
  return { param: 'id', message: `id: ${data.id} is also on line ${before}` }
}

const applyFile = async (
  { ledger, now, runtime }: ImportParts,
  register: Register,
  file: RecordFile,
  { tenantId, by, mode }: ImportOptions,
  records: number,
): Promise<Pick<ImportReport, 'added' | 'replaced' | 'removed' | 'examplesRemoved'>> => {
  const place = { tenantId, register: register.id }
  const importId = runtime.ids.create('import', now())
  const { startedAt, examplesRemoved } = await ledger.sealed.write(async trx => {
    const details = { records, mode, format: file.format, sha256: file.sha256 }
    const entry = { ...by, at: now(), tenant: tenantId, action: 'register.import', details }
    await appendAudit(trx, { ...entry, subject: register.id, outcome: 'done' })
    const examplesRemoved = await deleteExampleRows(trx, tenantId)
    return { startedAt: await ledger.nowMs(trx), examplesRemoved }
  })
  let added = 0
  for await (const batch of readBatches(register, file))
    added += await ledger.sealed.write(async trx => {
      const facts = { importId, at: await ledger.nowMs(trx), by: by.actor }
      return upsertRecords(trx, place, batch, facts)
    })
  const removed = mode === 'replace' ? await deleteOthers(ledger, place, importId, startedAt) : 0
  return { added, replaced: records - added, removed, examplesRemoved }
}

async function* readBatches(
  { record: schema }: Register,
  file: RecordFile,
): AsyncGenerator<Record<string, unknown>[]> {
  const pause = createSlices()
  let batch: Record<string, unknown>[] = []
  for await (const { value } of readFile(file.open(), file.format, schema)) {
    await pause()
    batch.push(schema.parse(value))
    if (batch.length < BATCH_ROWS) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/**
 * Deletes what the register had when the import began and the file lacks. Records that were changed
 * since then stay: of two imports at once, neither deletes what the other has written. Times are those
 * of the clock of the store, which all coordinators share.
 */
const deleteOthers = async (
  ledger: Ledger,
  place: Place,
  importId: string,
  startedAt: number,
): Promise<number> => {
  let removed = 0
  for (let after: string | undefined = ''; after !== undefined; ) {
    const from: string = after
    const ids = await ledger.sealed.write(async trx => {
      const old = await selectRecords(trx, place)
        .clearSelect()
        .select('id')
        .where('id', '>', from)
        .where('changed_at', '<=', startedAt)
        .where(row => row.or([row('import_id', 'is', null), row('import_id', '!=', importId)]))
        .orderBy('id')
        .limit(BATCH_ROWS)
        .execute()
      const found = old.map(({ id }) => id)
      if (found.length > 0) await deleteRows(trx, place, found)
      return found
    })
    removed += ids.length
    after = ids.length === BATCH_ROWS ? ids.at(-1) : undefined
  }
  return removed
}
