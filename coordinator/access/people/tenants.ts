import type { Kysely } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { breaksConstraint } from '../../kernel/store/faults.ts'
import type { Scope } from '../../kernel/store/scope.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { enableRow } from './enabling.ts'
import { type Tenant, tenantTable } from './tenant.table.ts'

export type { Tenant } from './tenant.table.ts'

/** Tenant ids, which clients may send as X-SVC-Tenant. */
const TENANT_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/

/** Throws `conflict` for an id that exists, `invalid_request` for one that cannot be. */
export const createTenant = (
  ledger: Ledger,
  tenant: { id?: string; name: string },
  by: Actor,
): Promise<Tenant> =>
  ledger.sealed.write(async trx => addTenant(trx, tenant, by, await ledger.nowMs(trx)))

/** Creates a tenant like `createTenant`, inside the caller's transaction. */
export const addTenant = async (
  trx: SealedTrx,
  { id = newId('tenant'), name }: { id?: string; name: string },
  by: Actor,
  now: number,
): Promise<Tenant> => {
  if (!TENANT_ID.test(id))
    throw new ShoalError('invalid_request', `${id} is not a tenant id`, { param: 'id' })
  const tenant: Tenant = { id, name, createdAt: now }
  try {
    await trx.insertInto('tenants').values(tenantTable.write(tenant)).execute()
  } catch (error) {
    if (breaksConstraint(error)) throw new ShoalError('conflict', `tenant ${id} exists`)
    throw error
  }
  await appendAudit(trx, {
    ...by,
    at: now,
    tenant: id,
    action: 'tenant.create',
    subject: id,
    outcome: 'done',
  })
  return tenant
}

/**
 * Enables or disables the tenant, like `enablePerson`: for the keys of everybody in it, and for
 * keys of other tenants that act for it.
 */
export const enableTenant = async (
  trx: SealedTrx,
  { id, ...state }: { id: string; enabled: boolean; at: number },
  by: Actor,
): Promise<Tenant> => {
  const row = await trx.selectFrom('tenants').selectAll().where('id', '=', id).executeTakeFirst()
  if (row === undefined) throw createUnknownError('tenant', id)
  const tenant = tenantTable.read(row)
  const switched = { table: 'tenants', what: 'tenant', tenantId: id } as const
  return { ...tenant, disabledAt: await enableRow(trx, { ...switched, ...tenant }, state, by) }
}

export const getTenant = async (ledger: Ledger, id: string): Promise<Tenant | undefined> => {
  const row = await ledger.read
    .selectFrom('tenants')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  return row && tenantTable.read(row)
}

/** Returns the tenants in the order of their ids. */
export const listTenants = async (ledger: Ledger, scope: Scope): Promise<Tenant[]> => {
  let query = ledger.read.selectFrom('tenants').selectAll().orderBy('id')
  if (scope !== 'all') query = query.where('id', '=', scope.tenantId)
  return (await query.execute()).map(tenantTable.read)
}

/** True when the tenant is disabled, so that nothing of it may be sent out. */
export const isTenantDisabled = async (
  db: Pick<Kysely<LedgerTables>, 'selectFrom'>,
  id: string,
): Promise<boolean> => {
  const query = db.selectFrom('tenants').select('disabled_at').where('id', '=', id)
  return ((await query.executeTakeFirst())?.disabled_at ?? null) !== null
}
