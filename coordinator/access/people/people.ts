import { ShoalError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { breaksConstraint } from '../../kernel/store/faults.ts'
import { isInScope, type Scope } from '../../kernel/store/scope.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import { enableRow } from './enabling.ts'
import { type Person, personTable } from './person.table.ts'

export type { Person } from './person.table.ts'

export interface NewPerson {
  id?: string
  tenantId: string
  name: string
}

/** Prefix of the ids of former visitors, about whom only their approvers know anything. */
const VISITOR = 'visitor'

export const visitorId = (): string => newId(VISITOR)

export const wasVisitor = (personId: string): boolean => personId.startsWith(`${VISITOR}_`)

/** Throws `conflict` for an id that exists or a tenant that does not. */
export const createPerson = (ledger: Ledger, person: NewPerson, by: Actor): Promise<Person> =>
  ledger.sealed.write(async trx => addPerson(trx, person, by, await ledger.nowMs(trx)))

/** Creates a person like `createPerson`, inside the caller's transaction. */
export const addPerson = async (
  trx: SealedTrx,
  { id = newId('person'), tenantId, name }: NewPerson,
  by: Actor,
  now: number,
): Promise<Person> => {
  const person: Person = { id, tenantId, name, createdAt: now }
  try {
    await trx.insertInto('persons').values(personTable.write(person)).execute()
  } catch (error) {
    if (!breaksConstraint(error)) throw error
    throw new ShoalError('conflict', `person ${id} exists, or tenant ${tenantId} does not`)
  }
  await appendAudit(trx, {
    ...by,
    at: now,
    tenant: tenantId,
    action: 'person.create',
    subject: id,
    outcome: 'done',
  })
  return person
}

/**
 * Ends what all keys of a person open, or lets them open it again. Throws `not_found`. To be called
 * through `Keys`, which forgets what it remembers of them.
 */
export const enablePerson = async (
  trx: SealedTrx,
  { id, ...state }: { id: string; enabled: boolean; at: number },
  scope: Scope,
  by: Actor,
): Promise<Person> => {
  const row = await trx.selectFrom('persons').selectAll().where('id', '=', id).executeTakeFirst()
  if (row === undefined || !isInScope(scope, row.tenant_id)) throw createUnknownError('person', id)
  const person = personTable.read(row)
  const switched = { table: 'persons', what: 'person', tenantId: person.tenantId } as const
  return { ...person, disabledAt: await enableRow(trx, { ...switched, ...person }, state, by) }
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
  return row && isInScope(scope, row.tenant_id) ? personTable.read(row) : undefined
}

/**
 * Returns the id of the person who is meant by an id or a name; the text itself when it is neither,
 * so that the caller reports what it does not know. Throws `conflict` when several people share the
 * name.
 */
export const resolvePersonId = async (
  ledger: Ledger,
  idOrName: string,
  scope: Scope,
): Promise<string> => {
  const rows = await ledger.read
    .selectFrom('persons')
    .select(['id', 'tenant_id'])
    .where(({ or, eb }) => or([eb('id', '=', idOrName), eb('name', '=', idOrName)]))
    .orderBy('id')
    .execute()
  const ids = rows.filter(row => isInScope(scope, row.tenant_id)).map(({ id }) => id)
  if (ids.length === 0 || ids.includes(idOrName)) return idOrName
  if (ids.length === 1) return ids[0] as string
  throw new ShoalError(
    'conflict',
    `several people have the name ${idOrName}; use one of the ids ${ids.join(', ')}`,
  )
}

/** Reads the names of people by their ids; an id that nobody has is left out. */
export const readNames = async (
  ledger: Ledger,
  ids: readonly string[],
): Promise<Map<string, string>> => {
  if (ids.length === 0) return new Map()
  const query = ledger.read.selectFrom('persons').select(['id', 'name']).where('id', 'in', ids)
  return new Map((await query.execute()).map(({ id, name }) => [id, name]))
}

/** Returns the people in the order of their ids, so the oldest first. */
export const listPeople = async (ledger: Ledger, scope: Scope): Promise<Person[]> => {
  let query = ledger.read.selectFrom('persons').selectAll().orderBy('id')
  if (scope !== 'all') query = query.where('tenant_id', '=', scope.tenantId)
  return (await query.execute()).map(personTable.read)
}
