import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { createSlices } from '../../kernel/base/time-slices.ts'
import type { RowOf } from '../../kernel/store/define-table.ts'
import type { Store } from '../../kernel/store/store.ts'
import {
  type ImportOptions,
  type ImportReport,
  importFile,
  type RecordFile,
} from './import-file.ts'
import {
  type Erasure,
  type ErasureOptions,
  erasePerson,
  findPersonRecords,
  type PersonRecord,
} from './person-data.ts'
import {
  createRecordReader,
  deleteExampleRows,
  deleteRows,
  readRecord,
  selectRecords,
  upsertRecords,
} from './record-rows.ts'
import { registerTable, type StoredRecord } from './register.table.ts'
import type { RecordOf, Register } from './register.ts'

interface RegistersParts {
  store: Pick<Store, 'ledger'>
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'ids'>
}

/** Tenant whose records are read or written. */
interface RegisterScope {
  tenantId: string
}

interface RecordPage {
  records: StoredRecord[]
  /** Id after which the next page begins; undefined on the last one. */
  next: string | undefined
}

/** Records of one kind, for figures. */
export interface RecordSet<T> {
  records: T[]
  /** True for the example organisation: a tenant has either example records or its own. */
  isExample: boolean
}

/** Revision that a record must have for a change; 0 when it must not exist. */
interface Expected {
  revision?: number | undefined
}

/** Records that are read at once: a few milliseconds. */
const READ_AT_ONCE = 500

/** Records that operators keep, each in a register of one tenant. */
export class Registers {
  readonly #parts: RegistersParts

  constructor(parts: RegistersParts) {
    this.#parts = parts
  }

  /** Throws `not_found`. */
  async get({ id: register }: Register, id: string, scope: RegisterScope): Promise<StoredRecord> {
    const found = await readRecord(this.#parts.store.ledger.read, { ...scope, register }, id)
    return requireRecord(found, register, id)
  }

  /** Records in the order of their ids. */
  async page(
    { id: register }: Register,
    scope: RegisterScope,
    { after, limit }: { after?: string | undefined; limit: number },
  ): Promise<RecordPage> {
    let query = selectRecords(this.#parts.store.ledger.read, { ...scope, register })
    if (after !== undefined) query = query.where('id', '>', after)
    const rows = await query.orderBy('id').limit(limit).execute()
    const next = rows.length === limit ? rows.at(-1)?.id : undefined
    return { records: rows.map(registerTable.read), next }
  }

  /**
   * Every record of one register, or about the first `most`, in slices that leave other work its turn.
   * Throws `internal` for a record that its register does not accept.
   */
  async readAll<R extends Register>(
    register: R,
    scope: RegisterScope,
    { most = Number.POSITIVE_INFINITY }: { most?: number } = {},
  ): Promise<RecordSet<RecordOf<R>>> {
    const { read } = this.#parts.store.ledger
    const place = { ...scope, register: register.id }
    const readRow = createRecordReader<R['record']>(register)
    const pause = createSlices()
    const set: RecordSet<RecordOf<R>> = { records: [], isExample: false }
    for (let after: string | undefined = ''; after !== undefined; await pause()) {
      const query = selectRecords(read, place).where('id', '>', after)
      const rows: RowOf<typeof registerTable>[] = await query
        .orderBy('id')
        .limit(READ_AT_ONCE)
        .execute()
      const stored = rows.map(readRow)
      for (const { record } of stored) set.records.push(record)
      set.isExample ||= stored.some(({ isExample }) => isExample)
      const isMore = rows.length === READ_AT_ONCE && set.records.length < most
      after = isMore ? rows.at(-1)?.id : undefined
    }
    return set
  }

  /**
   * Records of one register whose field has a value. They are searched beside the event loop: no
   * index has the fields of records.
   */
  async readMatching<R extends Register>(
    register: R,
    scope: RegisterScope,
    field: keyof RecordOf<R> & string,
    value: string,
  ): Promise<RecordSet<RecordOf<R>>> {
    const text = `${JSON.stringify(field)}:${JSON.stringify(value)}`
    const place = { ...scope, register: register.id }
    const rows = await selectRecords(this.#parts.store.ledger.scan, place)
      .where('record_json', 'like', `%${text}%`)
      .orderBy('id')
      .execute()
    const stored = rows
      .filter(({ record_json }) => record_json.includes(text))
      .map(createRecordReader<R['record']>(register))
    return {
      records: stored.map(({ record }) => record),
      isExample: stored.some(({ isExample }) => isExample),
    }
  }

  /**
   * Adds a valid record or replaces the one with its id; the first own record of a tenant removes
   * the example organisation, whose records are counted. Throws `conflict` for another revision
   * than the expected one.
   */
  async put(
    { id: register }: Register,
    record: Record<string, unknown>,
    { tenantId, by, revision }: RegisterScope & Expected & { by: Actor },
  ): Promise<StoredRecord & { exampleRecordsRemoved: number }> {
    const { store, now } = this.#parts
    const place = { tenantId, register }
    const id = String(record.id)
    return store.ledger.sealed.write(async trx => {
      const before = await readRecord(trx, place, id)
      requireRevision(before, revision)
      const removed = await deleteExampleRows(trx, tenantId)
      // the clock of the store, with which an import compares it
      const facts = { at: await store.ledger.nowMs(trx), by: by.actor }
      await upsertRecords(trx, place, [record], facts)
      const stored = requireRecord(await readRecord(trx, place, id), register, id)
      await appendAudit(trx, {
        ...by,
        at: now(),
        tenant: tenantId,
        action: 'register.put',
        subject: `${register}/${id}`,
        outcome: 'done',
        details: {
          revision: stored.revision,
          ...(removed > 0 && { example_records_removed: removed }),
        },
      })
      return { ...stored, exampleRecordsRemoved: removed }
    })
  }

  /** Imports a file; one invalid record refuses all of them. Throws `invalid_request` with lines. */
  import(register: Register, file: RecordFile, options: ImportOptions): Promise<ImportReport> {
    const { store, now, runtime } = this.#parts
    return importFile({ ledger: store.ledger, now, runtime }, register, file, options)
  }

  /** Records of a tenant that name a person, in all registers. */
  findPerson(personId: string, { tenantId }: RegisterScope): Promise<PersonRecord[]> {
    return findPersonRecords(this.#parts.store.ledger.read, tenantId, personId)
  }

  /** Deletes what is kept about a person. Throws `not_found`. */
  erasePerson(personId: string, options: ErasureOptions): Promise<Erasure> {
    const { store, now } = this.#parts
    return erasePerson(store.ledger, personId, { ...options, at: now() })
  }

  /** Throws `not_found`, and `conflict` for another revision than the expected one. */
  async delete(
    { id: register }: Register,
    id: string,
    { tenantId, by, revision }: RegisterScope & Expected & { by: Actor },
  ): Promise<StoredRecord> {
    const { store, now } = this.#parts
    const place = { tenantId, register }
    return store.ledger.sealed.write(async trx => {
      const stored = requireRecord(await readRecord(trx, place, id), register, id)
      requireRevision(stored, revision)
      await deleteRows(trx, place, [id])
      await appendAudit(trx, {
        ...by,
        at: now(),
        tenant: tenantId,
        action: 'register.delete',
        subject: `${register}/${id}`,
        outcome: 'done',
        details: { revision: stored.revision },
      })
      return stored
    })
  }
}

const requireRecord = (
  found: StoredRecord | undefined,
  register: string,
  id: string,
): StoredRecord => {
  if (found === undefined)
    throw createUnknownError('record', id, {
      where: `in ${register}`,
      next: `shoal registers list ${register}`,
    })
  return found
}

const requireRevision = (found: StoredRecord | undefined, revision: number | undefined): void => {
  const actual = found?.revision ?? 0
  if (revision === undefined || revision === actual) return
  const state = actual === 0 ? 'does not exist' : `has revision ${actual}`
  throw new ShoalError(
    'conflict',
    `the record ${state}, not revision ${revision}; read it again and repeat the change`,
    { param: 'revision' },
  )
}
