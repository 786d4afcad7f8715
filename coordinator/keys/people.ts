import type { Transaction } from 'kysely'
import { ShoalError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import { type Actor, appendAudit } from '../audit/audit.ts'
import { isConflict } from '../store/sqlite.ts'
import type { Ledger } from '../store/store.ts'
import type { LedgerTables, PersonRow } from '../store/tables.ts'
import { inScope, type Scope } from './scope.ts'

/** Somebody who can be held to account. */
export interface Person {
  id: string
  tenantId: string
  name: string
  createdAt: number
}

export interface NewPerson {
  id?: string
  tenantId: string
  name: string
}

/** Throws `conflict` for an id that exists or a tenant that does not. */
export const createPerson = (ledger: Ledger, person: NewPerson, by: Actor): Promise<Person> =>
  ledger.write(trx => addPerson(trx, person, by))

/** The same inside a transaction. */
export const addPerson = async (
  trx: Transaction<LedgerTables>,
  { id = newId('person'), tenantId, name }: NewPerson,
  by: Actor,
): Promise<Person> => {
  const row: PersonRow = { id, tenant_id: tenantId, name, created_at: Date.now() }
  try {
    await trx.insertInto('persons').values(row).execute()
  } catch (error) {
    if (!isConflict(error)) throw error
    throw new ShoalError('conflict', `person ${id} exists, or tenant ${tenantId} does not`)
  }
  await appendAudit(trx, {
    ...by,
    tenant: tenantId,
    action: 'person.create',
    subject: id,
    outcome: 'done',
  })
  return personOf(row)
}

export const getPerson = async (
  ledger: Ledger,
  id: string,
  scope: Scope,
): Promise<Person | undefined> => {
  const row = await ledger.read
    .selectFrom('persons')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  return row && inScope(scope, row.tenant_id) ? personOf(row) : undefined
}

/** By id, so the oldest first. */
export const listPeople = async (ledger: Ledger, scope: Scope): Promise<Person[]> => {
  let query = ledger.read.selectFrom('persons').selectAll().orderBy('id')
  if (scope !== 'all') query = query.where('tenant_id', '=', scope.tenantId)
  return (await query.execute()).map(personOf)
}

const personOf = (row: PersonRow): Person => ({
  id: row.id,
  tenantId: row.tenant_id,
  name: row.name,
  createdAt: row.created_at,
})
