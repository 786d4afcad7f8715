import type { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import { deleteRows, type Place, type Reader, selectRecords, upsertRecords } from './record-rows.ts'
import { registerTable, type StoredRecord } from './register.table.ts'
import type { Register } from './register.ts'
import { REGISTERS } from './register-list.ts'

/** A record that names a person. */
export interface PersonRecord extends Omit<StoredRecord, 'register'> {
  register: Register
}

/** Numbers of things that an erasure has changed. */
export interface Erasure {
  deleted: number
  cleared: number
  /** Number of things that other domains have deleted. */
  others: number
}

export interface ErasureOptions {
  tenantId: string
  by: Actor
  /** Deletes in the same transaction what another domain keeps; returns the number of things. */
  eraseOthers: (trx: SealedTrx) => Promise<number>
}

/** Every record of a tenant that names the person, in all registers. */
export const findPersonRecords = async (
  db: Reader,
  tenantId: string,
  personId: string,
): Promise<PersonRecord[]> => {
  const found: PersonRecord[] = []
  for (const register of REGISTERS) {
    if (register.personal === undefined) continue
    // the id has no character that JSON escapes; the pattern may match more, never less
    const query = selectRecords(db, { tenantId, register: register.id })
      .where('record_json', 'like', `%"${personId}"%`)
      .orderBy('id')
    const rows = (await query.execute()).map(registerTable.read)
    for (const row of rows)
      if (fieldsOf(register, row, personId).length > 0) found.push({ ...row, register })
  }
  return found
}

/** Fields of a record that hold the id of the person. */
const fieldsOf = (
  { personal }: Register,
  { record }: Pick<StoredRecord, 'record'>,
  personId: string,
): string[] => Object.keys(personal?.persons ?? {}).filter(field => record[field] === personId)

/**
 * Deletes the records about a person and clears its id in all others, in one transaction. The audit
 * keeps the id and the counts, as evidence that the erasure was carried out. Throws `not_found` where
 * nothing names the person.
 */
export const erasePerson = (
  ledger: Ledger,
  personId: string,
  { tenantId, by, at, eraseOthers }: ErasureOptions & { at: number },
): Promise<Erasure> =>
  ledger.sealed.write(async trx => {
    const erasure: Erasure = { deleted: 0, cleared: 0, others: await eraseOthers(trx) }
    for (const found of await findPersonRecords(trx, tenantId, personId)) {
      const place: Place = { tenantId, register: found.register.id }
      const cleared = withoutPerson(found, personId)
      if (cleared === undefined) {
        await deleteRows(trx, place, [found.id])
        erasure.deleted++
      } else {
        const facts = { isExample: found.isExample, at, by: by.actor }
        await upsertRecords(trx, place, [cleared], facts)
        erasure.cleared++
      }
    }
    const { deleted, cleared, others } = erasure
    if (deleted + cleared + others === 0) throw createUnknownPersonError(personId)
    const details = {
      records_deleted: deleted,
      records_cleared: cleared,
      statements_deleted: others,
    }
    const entry = {
      ...by,
      at,
      tenant: tenantId,
      action: 'person.erase',
      subject: personId,
      details,
    }
    await appendAudit(trx, { ...entry, outcome: 'done' })
    return erasure
  })

export const createUnknownPersonError = (personId: string): ShoalError =>
  createUnknownError('person', personId, {
    where: 'in any record',
    next: 'shoal registers list people',
  })

/** The record without the id of the person; undefined for one that is about the person. */
const withoutPerson = (
  found: PersonRecord,
  personId: string,
): Record<string, unknown> | undefined => {
  const fields = fieldsOf(found.register, found, personId)
  if (fields.some(field => found.register.personal?.persons[field] === 'delete')) return undefined
  return Object.fromEntries(Object.entries(found.record).filter(([name]) => !fields.includes(name)))
}
