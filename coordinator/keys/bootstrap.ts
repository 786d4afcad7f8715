import type { Transaction } from 'kysely'
import { TIER_NAMES, type TierName } from '../../shared/catalogue.ts'
import { ShoalError } from '../../shared/errors.ts'
import { type Actor, appendAudit } from '../audit/audit.ts'
import type { Store } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { addKey, type IssuedKey } from './issue.ts'
import { addPerson } from './people.ts'
import { addTenant } from './tenants.ts'

export interface FirstNames {
  tenantId: string
  personName: string
}

/**
 * The first tenant, and a person and key with the role operator_admin: everything else can be done
 * with that key. Throws `conflict` when it was done before.
 */
export const initialise = (
  { ledger }: Store,
  { tenantId, personName }: FirstNames,
  by: Actor,
): Promise<IssuedKey> =>
  ledger.write(async trx => {
    if (await wasDone(trx)) throw new ShoalError('conflict', 'the store has its first operator')
    await ensureTenant(trx, tenantId, by)
    const person = await addPerson(trx, { tenantId, name: personName }, by)
    const issued = await addKey(
      trx,
      {
        tenantId,
        personId: person.id,
        tier: 'enterprise',
        roles: ['client', 'operator_admin'],
        label: 'first operator',
      },
      by,
    )
    const details = { person: person.id, key: issued.key.id }
    const entry = { ...by, tenant: tenantId, action: ACTION, subject: tenantId, details }
    await appendAudit(trx, { ...entry, outcome: 'done' })
    return issued
  })

const ACTION = 'bootstrap'

const wasDone = async (trx: Transaction<LedgerTables>): Promise<boolean> => {
  const query = trx.selectFrom('audit').select('seq').where('action', '=', ACTION).limit(1)
  return (await query.executeTakeFirst()) !== undefined
}

const ensureTenant = async (
  trx: Transaction<LedgerTables>,
  id: string,
  by: Actor,
): Promise<void> => {
  const query = trx.selectFrom('tenants').select('id').where('id', '=', id)
  if ((await query.executeTakeFirst()) === undefined) await addTenant(trx, { id, name: id }, by)
}

/** For trying shoal out: tenant `demo` with a person and a key of every tier. */
export const bootstrap = (
  { ledger }: Store,
  by: Actor = { actor: 'bootstrap' },
): Promise<{ keys: Record<TierName, string> }> =>
  ledger.write(async trx => {
    await ensureTenant(trx, DEMO, by)
    const keys = {} as Record<TierName, string>
    for (const tier of TIER_NAMES) {
      const person = await addPerson(trx, { tenantId: DEMO, name: `demo ${tier}` }, by)
      const spec = { tenantId: DEMO, personId: person.id, tier, label: `demo ${tier}` }
      keys[tier] = (await addKey(trx, spec, by)).secret
    }
    return { keys }
  })

const DEMO = 'demo'
