import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { Person } from './person.table.ts'

/** A person or a tenant. */
interface Switched extends Pick<Person, 'id' | 'tenantId' | 'disabledAt'> {
  table: 'persons' | 'tenants'
  /** Noun in the name of the audit action, such as `person`. */
  what: string
}

/**
 * Ends what the keys of a person or tenant open, or lets them open it again. Returns the time since
 * which they are disabled.
 */
export const enableRow = async (
  trx: SealedTrx,
  { table, what, id, tenantId, disabledAt }: Switched,
  { enabled, at }: { enabled: boolean; at: number },
  by: Actor,
): Promise<number | undefined> => {
  const next = enabled ? undefined : (disabledAt ?? at)
  await trx
    .updateTable(table)
    .set({ disabled_at: next ?? null })
    .where('id', '=', id)
    .execute()
  await bumpRevision(trx, 'keys')
  const action = `${what}.${enabled ? 'enable' : 'disable'}`
  await appendAudit(trx, { ...by, at, tenant: tenantId, action, subject: id, outcome: 'done' })
  return next
}
