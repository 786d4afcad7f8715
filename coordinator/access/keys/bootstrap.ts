import { ShoalError } from '../../../shared/errors.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { type KeySpec, OPERATOR_ROLES } from '../../kernel/declaration/key.ts'
import type { SealedTrx, Store } from '../../kernel/store/store.ts'
import { addPerson } from '../people/people.ts'
import { addTenant } from '../people/tenants.ts'
import { countAdministrators, isApprover, listApprovers } from './approvers.ts'
import { addKey, type IssuedKey } from './issue.ts'
import { Keys } from './keys.ts'

interface FirstNames {
  tenantId: string
  personName: string
}

/**
 * Creates the first tenant, and a person and key with the role operator_admin, which can do
 * everything else. Throws `conflict` when this was done before.
 */
export const initialise = (
  { ledger }: Store,
  { tenantId, personName }: FirstNames,
  by: Actor,
): Promise<IssuedKey> =>
  ledger.sealed.write(async trx => {
    if (await wasDone(trx)) throw new ShoalError('conflict', 'the store has its first operator')
    const now = await ledger.nowMs(trx)
    await ensureTenant(trx, tenantId, by, now)
    const person = await addPerson(trx, { tenantId, name: personName }, by, now)
    const issued = await addKey(
      trx,
      {
        tenantId,
        personId: person.id,
        tier: 'enterprise',
        roles: ['client', 'operator_admin'],
        label: FIRST,
      },
      by,
      now,
    )
    const details = { person: person.id, key: issued.key.id }
    const entry = { ...by, at: now, tenant: tenantId, action: ACTION, subject: tenantId, details }
    await appendAudit(trx, { ...entry, outcome: 'done' })
    return issued
  })

const ACTION = 'bootstrap'
const FIRST = 'first operator'

/** Looks for the key, which stays after its revocation; the audit row is purged eventually. */
const wasDone = async (trx: SealedTrx): Promise<boolean> => {
  const query = trx.selectFrom('keys').select('id').where('label', '=', FIRST)
  const first = await query.where('roles_json', 'like', '%"operator_admin"%').executeTakeFirst()
  return first !== undefined
}

/**
 * Issues a key without a gate, for the owner of the coordinator's store. A key that approves is
 * issued only while fewer than two people could approve a key, and audited as bootstrap: afterwards
 * each administrator has another one, and the gate decides. Throws `conflict`.
 */
export const issueAsOwner = ({ ledger }: Store, spec: KeySpec, by: Actor): Promise<IssuedKey> =>
  ledger.sealed.write(async trx => {
    const now = await ledger.nowMs(trx)
    const { kind = 'person', roles = ['client'], tenantId, furtherTenants = [] } = spec
    const approves = isApprover({ kind, roles })
    if (approves)
      for (const id of [tenantId, ...furtherTenants]) await requireFewApprovers(trx, id, now)
    const issued = await addKey(trx, spec, by, now)
    if (approves) {
      const details = { person: spec.personId, key: issued.key.id }
      const entry = { ...by, at: now, tenant: tenantId, action: ACTION, subject: tenantId, details }
      await appendAudit(trx, { ...entry, outcome: 'done' })
    }
    return issued
  })

const requireFewApprovers = async (
  trx: SealedTrx,
  tenantId: string,
  now: number,
): Promise<void> => {
  const count = countAdministrators(await listApprovers(trx, tenantId, now))
  if (count < 2) return
  throw new ShoalError(
    'conflict',
    `${count} people of tenant ${tenantId} can approve keys, so that a key with an operator role needs the approval of one of them: shoal keys request; if one of them is gone, revoke their key first: shoal-coordinator key revoke`,
  )
}

const ensureTenant = async (trx: SealedTrx, id: string, by: Actor, now: number): Promise<void> => {
  const query = trx.selectFrom('tenants').select('id').where('id', '=', id)
  if ((await query.executeTakeFirst()) === undefined)
    await addTenant(trx, { id, name: id }, by, now)
}

type DemoSpec = Pick<KeySpec, 'tier' | 'roles'>

const OPERATOR_SPEC: DemoSpec = {
  tier: 'enterprise',
  roles: ['client', 'operator_admin', 'builder'],
}
const APPROVER_SPEC: DemoSpec = { tier: 'enterprise', roles: ['client', ...OPERATOR_ROLES] }

/** Specs of the demo keys. Each belongs to its own person: a requester cannot be the approver. */
const DEMO_SPECS = {
  free: { tier: 'free' },
  pro: { tier: 'pro' },
  enterprise: { tier: 'enterprise' },
  operator: OPERATOR_SPEC,
  approver_a: APPROVER_SPEC,
  approver_b: APPROVER_SPEC,
} as const satisfies Record<string, Partial<DemoSpec>>

export type DemoName = keyof typeof DEMO_SPECS
export const DEMO_NAMES = Object.keys(DEMO_SPECS) as DemoName[]
export type DemoKeys = Record<DemoName, string>

/** Tenant of the demo keys. */
export const DEMO_TENANT = 'demo'

/** Creates tenant `demo` for trials, with a key of every tier, an operator's and two approvers'. */
export const bootstrap = async (
  store: Store,
  by: Actor = { actor: 'bootstrap' },
): Promise<{ keys: DemoKeys }> => demoKeys(store, {}, by)

/** Keeps the known keys that are still valid, and issues the others. */
export const demoKeys = async (
  store: Store,
  known: Partial<DemoKeys>,
  by: Actor = { actor: 'bootstrap' },
): Promise<{ keys: DemoKeys; issued: DemoName[] }> => {
  const good: Partial<DemoKeys> = {}
  const keys = new Keys({ store, logger: { warn: () => {} } })
  for (const name of DEMO_NAMES) {
    const key = await keys.authenticate(known[name] ?? '')
    if (key?.tenantId === DEMO_TENANT && key.label === labelOf(name))
      good[name] = known[name] as string
  }
  keys.close()
  const issued = DEMO_NAMES.filter(name => good[name] === undefined)
  if (issued.length === 0) return { keys: good as DemoKeys, issued }
  const made = await store.ledger.sealed.write(async trx => {
    const now = await store.ledger.nowMs(trx)
    await ensureTenant(trx, DEMO_TENANT, by, now)
    const secrets: Partial<DemoKeys> = {}
    for (const name of issued) secrets[name] = await issueDemoKey(trx, name, by, now)
    return secrets
  })
  return { keys: { ...good, ...made } as DemoKeys, issued }
}

const labelOf = (name: DemoName): string => `demo ${name}`

const issueDemoKey = async (
  trx: SealedTrx,
  name: DemoName,
  by: Actor,
  now: number,
): Promise<string> => {
  const id = `demo_${name}`
  const query = trx.selectFrom('persons').select('id').where('id', '=', id)
  if ((await query.executeTakeFirst()) === undefined)
    await addPerson(trx, { id, tenantId: DEMO_TENANT, name: labelOf(name) }, by, now)
  const spec = { tenantId: DEMO_TENANT, personId: id, label: labelOf(name), ...DEMO_SPECS[name] }
  return (await addKey(trx, spec, by, now)).secret
}
