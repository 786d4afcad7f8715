import type { Transaction } from 'kysely'
import { ShoalError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import { type Actor, appendAudit } from '../audit/audit.ts'
import { isConflict } from '../store/sqlite.ts'
import type { Ledger } from '../store/store.ts'
import type { LedgerTables, TenantRow } from '../store/tables.ts'
import type { Scope } from './scope.ts'

export interface Tenant {
  id: string
  name: string
  createdAt: number
}

/** What clients may send as X-SVC-Tenant. */
const TENANT_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/

/** Throws `conflict` for an id that exists, `invalid_request` for one that cannot be. */
export const createTenant = (
  ledger: Ledger,
  tenant: { id?: string; name: string },
  by: Actor,
): Promise<Tenant> => ledger.write(trx => addTenant(trx, tenant, by))

/** The same inside a transaction. */
export const addTenant = async (
  trx: Transaction<LedgerTables>,
  { id = newId('tenant'), name }: { id?: string; name: string },
  by: Actor,
): Promise<Tenant> => {
  if (!TENANT_ID.test(id))
    throw new ShoalError('invalid_request', `${id} is no tenant id`, { param: 'id' })
  const row: TenantRow = { id, name, created_at: Date.now() }
  try {
    await trx.insertInto('tenants').values(row).execute()
  } catch (error) {
    if (isConflict(error)) throw new ShoalError('conflict', `tenant ${id} exists`)
    throw error
  }
  await appendAudit(trx, {
    ...by,
    tenant: id,
    action: 'tenant.create',
    subject: id,
    outcome: 'done',
  })
  return tenantOf(row)
}

export const getTenant = async (ledger: Ledger, id: string): Promise<Tenant | undefined> => {
  const row = await ledger.read
    .selectFrom('tenants')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  return row && tenantOf(row)
}

/** By id. */
export const listTenants = async (ledger: Ledger, scope: Scope): Promise<Tenant[]> => {
  let query = ledger.read.selectFrom('tenants').selectAll().orderBy('id')
  if (scope !== 'all') query = query.where('id', '=', scope.tenantId)
  return (await query.execute()).map(tenantOf)
}

const tenantOf = (row: TenantRow): Tenant => ({
  id: row.id,
  name: row.name,
  createdAt: row.created_at,
})
