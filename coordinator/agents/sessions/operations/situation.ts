import type { GateViews } from '../../../access/gates/open.ts'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import { stateAt } from '../../../access/gates/request.ts'
import { isOperator } from '../../../access/keys/key.ts'
import { mayCall } from '../../../calls/invoke/access.ts'
import type { CallViews } from '../../../calls/invoke/call-views.ts'
import { isRaised } from '../../../fleet/alerts/alert.ts'
import type { MonitorViews } from '../../../fleet/alerts/open-monitor.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { ModelViews } from '../../../fleet/models/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import type { GateRequest } from '../../../kernel/declaration/gate-request.ts'
import type { Situation } from '../recommend.ts'
import type { AgentRole } from '../roles.ts'
import type { Briefing } from './briefing-view.ts'

/** Skills that the key may call. */
export const callableIds = ({
  skills,
  key,
}: Pick<Context, 'key'> & Pick<CallViews, 'skills'>): Set<string> =>
  new Set(skills.filter(skill => mayCall(skill, key)).map(({ id }) => id))

/** Everything that is live now, as far as the key may see it. */
export const look = async (
  roles: readonly AgentRole[],
  context: Context & CallViews & FleetViews & GateViews & ModelViews & MonitorViews,
  lastSkill: string | undefined,
) => {
  const { monitor, key } = context
  const operates = key !== undefined && isOperator(key)
  const { decidable, own } = await requestsOf(context)
  const alerts = operates ? monitor.alerts().filter(isRaised) : undefined
  const fleet = operates ? fleetOf(context) : null
  const situation: Situation = {
    roles,
    callable: callableIds(context),
    lastSkill,
    alerts: alerts ?? [],
    decidable: decidable.length,
    modelsMissing: fleet?.models_missing ?? [],
  }
  return { situation, decidable, own, alerts, fleet }
}

const LOOKED_AT = 200

/** Pending requests that the caller can decide, and the caller's own open requests. */
const requestsOf = async (context: Context & GateViews) => {
  const { gates } = context
  const { person, tenantId } = callerOf(context)
  const now = context.now()
  const found = await gates.list(
    { states: ['pending', 'approved'], limit: LOOKED_AT },
    { tenantId },
  )
  const open = found.filter(request => stateAt(request, now) === request.state)
  const isMine = ({ requesterId }: GateRequest) => requesterId === person.personId
  const couldDecide = ({ gateId, state, votes }: GateRequest): boolean =>
    state === 'pending' &&
    person.kind === 'person' &&
    !votes.some(({ personId }) => personId === person.personId) &&
    (gates.definitions[gateId]?.approvals.flat() ?? []).some(role => person.roles.includes(role))
  return {
    decidable: open.filter(request => !isMine(request) && couldDecide(request)),
    own: open.filter(isMine),
  }
}

const fleetOf = ({
  fleet,
  monitor,
  catalogue,
}: FleetViews & ModelViews & MonitorViews): NonNullable<Briefing['fleet']> => {
  const cells: Record<string, number> = {}
  for (const { presence } of fleet.cells()) cells[presence] = (cells[presence] ?? 0) + 1
  const ids = catalogue.map(({ id }) => id)
  return {
    degraded: monitor.isDegraded(),
    cells,
    models_served: ids.filter(id => fleet.serves(id)),
    models_missing: ids.filter(id => !fleet.serves(id)),
  }
}
