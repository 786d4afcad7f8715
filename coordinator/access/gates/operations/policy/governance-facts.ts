import type { AuditViews } from '../../../../kernel/audit/open.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import type { Key } from '../../../../kernel/declaration/key.ts'
import type { ListenerViews } from '../../../../kernel/tls/open.ts'
import type { KeyViews } from '../../../keys/open.ts'
import type { PeopleViews } from '../../../people/open.ts'
import type { Person } from '../../../people/people.ts'
import type { CheckedCell, GovernanceFacts } from '../../facts.ts'
import type { GateViews } from '../../open.ts'

/** Enrolled cells, as far as the checks read them. */
interface CheckedCellViews {
  cells: { list(): Promise<readonly CheckedCell[]> }
}

/** Views from which the checks take their facts. */
export type GovernanceViews = AuditViews &
  GateViews &
  CheckedCellViews &
  KeyViews &
  ListenerViews &
  PeopleViews

/** Number of newest requests and rows that the checks examine. */
const LOOKED_AT = 1000

/** Current facts of the caller's tenant for the governance checks. */
export const gatherFacts = async (context: Context & GovernanceViews): Promise<GovernanceFacts> => {
  const { audit, gates, policies, keys, people, cells, listens } = context
  const { tenantId = '' } = context
  const scope = { tenantId }
  const { requests, unreadable } = await gates.listNewest(LOOKED_AT, scope)
  const since = requests.at(-1)?.createdAt ?? context.now()
  const rows = { action: 'gate.*', from: since, order: 'newest', limit: 8 * LOOKED_AT } as const
  const [verdict, appendOnly, gateRows, allKeys, persons, allCells] = await Promise.all([
    audit.verify(),
    audit.isAppendOnly(),
    audit.query(rows, scope),
    keys.list(scope),
    people.list(scope),
    cells.list(),
  ])
  return {
    gates: gates.definitions,
    policy: policies.current(),
    requests,
    unreadableRequests: unreadable,
    gateRows,
    persons,
    listens,
    now: context.now(),
    policyDrift: policies.drift(),
    keys: withPeople(allKeys, persons),
    cells: allCells,
    audit: {
      ok: verdict.ok,
      reason: verdict.ok ? undefined : verdict.reason,
      appendOnly,
      retentionDays: audit.retentionDays,
      purgedUntil: (verdict.ok && verdict.purged?.last_at) || 0,
    },
  }
}

/** Marks the keys of disabled persons as disabled: they open nothing, so they must not count. */
const withPeople = (keys: readonly Key[], persons: readonly Person[]): Key[] => {
  const disabled = new Map(persons.map(({ id, disabledAt }) => [id, disabledAt]))
  return keys.map(key => {
    const disabledAt = disabled.get(key.personId)
    return disabledAt === undefined ? key : { ...key, disabledAt }
  })
}
