import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { PersonRow } from './person.table.ts'
import type { TenantRow } from './tenant.table.ts'

interface Switched<R> {
  table: 'persons' | 'tenants'
  /** Noun in the name of the audit action, such as `person`. */
  what: string
  row: R
  tenantId: string
}

/** Ends what the keys of a person or tenant open, or lets them open it again. */
export const enableRow = async <R extends PersonRow | TenantRow>(
  trx: SealedTrx,
  { table, what, row, tenantId }: Switched<R>,
  { enabled, at }: { enabled: boolean; at: number },
  by: Actor,
): Promise<R> => {
  const { id } = row
  const disabled_at = enabled ? null : (row.disabled_at ?? at)
  await trx.updateTable(table).set({ disabled_at }).where('id', '=', id).execute()
  await bumpRevision(trx, 'keys')
  const action = `${what}.${enabled ? 'enable' : 'disable'}`
  await appendAudit(trx, { ...by, at, tenant: tenantId, action, subject: id, outcome: 'done' })
  return { ...row, disabled_at }
}
