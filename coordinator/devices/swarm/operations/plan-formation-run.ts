import { canonicalHash } from '../../../../shared/canonical-hash.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { describeCheck } from '../../../../shared/wire/describe-check.ts'
import { FORMATION_VERB } from '../../../../shared/wire/formation.ts'
import { FORMATION_GATE, type Precondition } from '../../../../shared/wire/plan-part.ts'
import type { GateViews } from '../../../access/gates/open.ts'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import { ownSubject } from '../../../access/gates/own-subject.ts'
import { stateAt } from '../../../access/gates/request.ts'
import type { ControlViews } from '../../../fleet/control/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import type { GateRequest } from '../../../kernel/declaration/gate-request.ts'
import type { OperationPlan } from '../../../kernel/declaration/plan.ts'
import type { SingleUseApproval } from '../../../kernel/declaration/single-use-approval.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { requireKnownPlaces } from '../feasibility.ts'
import type { StartedFormation } from '../formation.table.ts'
import { FormationPlan, toFormationPlan } from '../formation-plan.ts'
import type { SwarmViews } from '../open.ts'
import type { PlannedSwarm } from '../plan-swarm.ts'
import type { FormationInput } from './swarm-input.ts'

/** Time limit of a call that plans on every cell. */
export const RUN_SECONDS = 60

/** A formation that may be carried out; without `covers` it is only planned. */
export interface FormationRunPlan {
  covers: FormationPlan
  /** Start in unix milliseconds; chosen at the start when absent. */
  startAt?: number | undefined
}

/**
 * Plans a formation on all of its cells for one approval. An earlier request of the same call that
 * is still open is taken up as long as its units are where it begins: a drift within the tolerance
 * must not void an approval.
 */
export const planFormationRun = async (
  input: FormationInput,
  startAt: number | undefined,
  context: Context & ControlViews & GateViews & SwarmViews,
): Promise<OperationPlan<FormationRunPlan>> => {
  const subject = `swarm:${canonicalHash(input as never)}`
  const earlier = await findEarlier(subject, input, context)
  if (earlier !== undefined)
    return { ...toOperationPlan(earlier.covers, subject, startAt), request: earlier.request }
  const planned = await context.swarm.plan(input)
  requireKnownPlaces(planned.excluded)
  const covers = await planOnCells(planned, context)
  return toOperationPlan(covers, subject, startAt)
}

const toOperationPlan = (
  covers: FormationPlan,
  subject: string,
  startAt: number | undefined,
): OperationPlan<FormationRunPlan> => {
  const { formation, spacing_m, units, cells, strategy } = covers
  return {
    plan: { covers, startAt },
    covers,
    subject,
    shown: covers,
    summary:
      `${formation} of ${countOf(units, 'unit')} on ${countOf(cells, 'cell')}, ${spacing_m} m apart, ` +
      `${strategy}, in ${Math.ceil(covers.duration_s)} s`,
    gate: FORMATION_GATE,
  }
}

const countOf = ({ length }: readonly unknown[], noun: string): string =>
  `${length} ${noun}${length === 1 ? '' : 's'}`

const findEarlier = async (
  subject: string,
  input: FormationInput,
  context: Context & GateViews & SwarmViews,
): Promise<{ request: GateRequest; covers: FormationPlan } | undefined> => {
  const { gates, swarm, now } = context
  const [request] = await gates.list(
    {
      gateId: FORMATION_GATE,
      requesterId: callerOf(context).person.personId,
      states: ['pending', 'approved'],
      subject: ownSubject(undefined, subject),
      limit: 1,
    },
    scopeOf(context),
  )
  if (request === undefined || !['pending', 'approved'].includes(stateAt(request, now())))
    return undefined
  const covers = FormationPlan.safeParse(request.plan).data
  if (covers === undefined || !(await swarm.isFeasible(covers, input))) return undefined
  return { request, covers }
}

/** Lets every cell plan its part and check it; nothing moves. */
const planOnCells = async (
  planned: PlannedSwarm,
  { commands, actor, signal }: Context & ControlViews,
): Promise<FormationPlan> => {
  const { cells } = planned
  if (cells.length === 0)
    throw new ShoalError('conflict', 'all units are in their slots; nothing needs to move')
  const dry = await Promise.all(
    cells.map(({ cell_id, params }) =>
      commands.plan({ cellId: cell_id, verb: FORMATION_VERB, params }, actor, signal),
    ),
  )
  requireChecks(dry.flatMap(({ checks }) => checks))
  const parts = dry.flatMap(({ plan }) => FormationPlan.shape.parts.parse(plan.parts))
  return toFormationPlan(planned, parts)
}

const requireChecks = (checks: readonly Precondition[]): void => {
  const failing = checks.filter(({ holds }) => !holds)
  if (failing.length === 0) return
  const described = failing.slice(0, 10).map(describeCheck)
  throw new ShoalError('conflict', `the cells cannot move the units now: ${described.join('; ')}`)
}

/** Starts an approved formation: a command for each cell, in the transaction that uses it. */
export const runFormation = async (
  { covers, startAt }: FormationRunPlan,
  { formations, swarm, actor, now }: Context & SwarmViews,
  approval: SingleUseApproval | undefined,
  tenantId: string,
): Promise<StartedFormation> => {
  if (approval === undefined) throw new TypeError('a formation needs an approval')
  const delayMs = swarm.config.start_delay_seconds * 1000
  const start = startAt ?? now() + delayMs
  if (start < now() + delayMs / 2)
    throw new ShoalError('conflict', 'start_at is too soon; every cell must accept before it', {
      param: 'start_at',
    })
  return approval.use((trx, signed) => {
    if (start > signed.expires_at)
      throw new ShoalError('conflict', 'the approval expires before start_at', {
        param: 'start_at',
      })
    const approved = { plan: covers as never, approval: signed }
    return formations.startWithin(trx, { plan: covers, approved, tenantId, startAt: start }, actor)
  })
}
