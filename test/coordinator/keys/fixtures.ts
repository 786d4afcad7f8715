import type { Test } from 'tap'
import type { KeySpec } from '../../../coordinator/keys/key.ts'
import { Keys, type KeysOptions } from '../../../coordinator/keys/keys.ts'
import { createPerson } from '../../../coordinator/people/people.ts'
import { createTenant } from '../../../coordinator/people/tenants.ts'
import type { Store } from '../../../coordinator/store/store.ts'
import { BY, temporaryStore } from '../store/temporary.ts'

export const logger = { warn: () => {} }

export const SPEC: KeySpec = { tenantId: 'one', personId: 'ada', tier: 'pro' }

/** Two tenants with a person each. */
export const populate = async ({ ledger }: Store): Promise<void> => {
  for (const [tenantId, id] of [
    ['one', 'ada'],
    ['two', 'bob'],
  ] as const) {
    await createTenant(ledger, { id: tenantId, name: tenantId }, BY)
    await createPerson(ledger, { id, tenantId, name: id }, BY)
  }
}

export const populatedKeys = async (
  t: Pick<Test, 'teardown'>,
  options: Partial<KeysOptions> = {},
  folder?: string,
) => {
  const store = await temporaryStore(t, folder)
  await populate(store)
  return { store, keys: new Keys({ store, logger, ...options }) }
}

export const auditRows = async ({ ledger }: Store) => {
  const query = ledger.read.selectFrom('audit').selectAll().orderBy('seq')
  return (await query.execute()).map(row => ({ ...row, details: JSON.parse(row.details_json) }))
}
