import { ShoalError } from '../../../../shared/errors.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { type Key, OPERATOR_ROLES } from '../../../kernel/declaration/key.ts'
import type { PeopleViews } from '../../people/open.ts'
import { wasVisitor } from '../../people/people.ts'
import { tierRank } from '../../quota/tier-models.ts'
import type { KeyPlan } from './key-plan.ts'
import { isAdministrator } from './key-view.ts'

/**
 * Throws unless the caller may request this key and reveal its secret. Checked at the request and
 * again at the reveal: by then another key of the same person may be calling.
 */
export const requireMayHave = async (
  plan: KeyPlan,
  context: Context & PeopleViews,
): Promise<void> => {
  const { key, tenantId } = context
  if (key === undefined) throw new ShoalError('auth_required', 'this call needs a key')
  if (plan.tenant_id !== tenantId)
    throw new ShoalError('tenant_forbidden', `the key is for tenant ${plan.tenant_id}`)
  if (plan.kind === 'person' && key.kind !== 'person')
    throw new ShoalError(
      'forbidden',
      `a key of kind ${key.kind} cannot request a key for a person`,
      {
        param: 'kind',
      },
    )
  if (plan.person_id !== key.personId && !isAdministrator(context))
    throw new ShoalError('forbidden', 'only administrators can request a key for another person')
  requireKnown(plan, context)
  requireFuture(plan, context.now())
  await requirePerson(plan.person_id, context)
  requireOwnTenants(plan, key)
}

/**
 * Returns the id of the person whom an administrator names; others learn nothing about the names
 * of the tenant.
 */
export const resolvePerson = async (
  named: string,
  context: Context & PeopleViews,
): Promise<string> => {
  const { people, tenantId = '' } = context
  return isAdministrator(context) ? people.resolveId(named, { tenantId }) : named
}

/**
 * Requires that an administrator requests an operator role for a former visitor. A single
 * administrator admits visitors, and might be that visitor; otherwise one person could fill every
 * seat of a gate by admitting themselves.
 */
const requireKnown = ({ person_id, roles }: KeyPlan, context: Context): void => {
  const wanted = roles.find(role => (OPERATOR_ROLES as readonly string[]).includes(role))
  if (wanted === undefined || !wasVisitor(person_id) || isAdministrator(context)) return
  throw new ShoalError(
    'forbidden',
    `visitors cannot request ${wanted}; ask an administrator to request it`,
    {
      param: 'roles',
    },
  )
}

const requireFuture = ({ expires_at }: KeyPlan, now: number): void => {
  if (expires_at === null || Date.parse(expires_at) > now) return
  throw new ShoalError('invalid_request', 'expires_at is in the past', { param: 'expires_at' })
}

const requirePerson = async (
  id: string,
  { people, tenantId = '' }: Context & PeopleViews,
): Promise<void> => {
  const person = await people.get(id, { tenantId })
  if (person !== undefined && person.disabledAt === undefined) return
  throw new ShoalError('invalid_request', `tenant ${tenantId} has no person ${id}`, {
    param: 'person_id',
  })
}

/**
 * Callers cannot grant access they lack: the approvers of one tenant can neither open another
 * tenant nor grant a role there.
 */
const requireOwnTenants = ({ further_tenants, roles }: KeyPlan, key: Key): void => {
  if (further_tenants.length === 0) return
  const own = [key.tenantId, ...key.furtherTenants]
  const other = further_tenants.find(id => !own.includes(id))
  if (other !== undefined)
    throw new ShoalError('tenant_forbidden', `your key does not act for ${other}`, {
      param: 'further_tenants',
    })
  const role = roles.find(each => !key.roles.includes(each))
  if (role !== undefined)
    throw new ShoalError('forbidden', `you do not have the role ${role} in other tenants`, {
      param: 'roles',
      reason: 'role_required',
    })
}

/**
 * Throws `forbidden` unless the caller is the key itself, or another key held by the same person
 * with at least the same rights. The new secret gives its reader the key: otherwise an
 * administrator could vote as another person, and a program or a lesser key could act as its
 * person.
 */
export const requireHolder = (wanted: Key, { key }: Pick<Context, 'key'>): void => {
  if (key !== undefined && (key.id === wanted.id || maySame(key, wanted))) return
  throw new ShoalError(
    'forbidden',
    `only its holder can rotate the secret of ${wanted.id}; revoke it with keys-revoke and request another key`,
  )
}

const maySame = (key: Key, wanted: Key): boolean =>
  key.kind === 'person' &&
  key.personId === wanted.personId &&
  tierRank(wanted.tier) <= tierRank(key.tier) &&
  wanted.roles.every(role => key.roles.includes(role)) &&
  [wanted.tenantId, ...wanted.furtherTenants].every(id =>
    [key.tenantId, ...key.furtherTenants].includes(id),
  )
