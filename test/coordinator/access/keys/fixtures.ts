import type { Test } from 'tap'
import { Keys } from '../../../../coordinator/access/keys/keys.ts'
import { createPerson } from '../../../../coordinator/access/people/people.ts'
import { createTenant } from '../../../../coordinator/access/people/tenants.ts'
import type { KeySpec } from '../../../../coordinator/kernel/declaration/key.ts'
import type { Store } from '../../../../coordinator/kernel/store/store.ts'
import { BY, temporaryStore } from '../../kernel/store/temporary.ts'

type KeysOptions = ConstructorParameters<typeof Keys>[0]

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
