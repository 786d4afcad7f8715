import { type ErrorCode, isErrorCode, ShoalError } from '../../../shared/errors.ts'
import type { ApprovedPlan } from '../../../shared/wire/approved-plan.ts'
import type { Hazard } from '../../../shared/wire/command.ts'
import {
  DryRun,
  hashPart,
  type PlanPart,
  type Precondition,
  planOf,
} from '../../../shared/wire/plan-part.ts'
import type { CommandRecord } from './command.ts'
import type { CommandRequest } from './command-request.ts'

/** Plan of a command, as the cell itself reported it. */
export interface CommandPlan {
  /** Plan that people approve; `createWithin` takes it with their approval. */
  plan: ApprovedPlan['plan']
  hazard: Hazard
  /** Gate that must approve the plan; absent if no approval is needed. */
  gate?: string
  /** Preconditions at the time of planning; the cell checks them again before it acts. */
  checks: Precondition[]
}

const toCommandPlan = (part: PlanPart, checks: Precondition[]): CommandPlan => ({
  plan: planOf(part),
  hazard: part.hazard,
  ...(part.gate === undefined ? {} : { gate: part.gate }),
  checks,
})

/** Plan for a cell that cannot plan yet: the known facts of the verb, without operations. */
export const createUnresolvedPlan = (
  { cellId, deviceId, verb }: Pick<CommandRequest, 'cellId' | 'deviceId' | 'verb'>,
  hazard: Hazard,
): CommandPlan => {
  const device = deviceId === undefined ? {} : { device_id: deviceId }
  return toCommandPlan({ cell_id: cellId, ...device, verb, hazard, operations: [], bounds: {} }, [])
}

/** Returns the plan of a completed dry run; throws the reason if there is none. */
export const requireDryRunPlan = (dry: CommandRecord): CommandPlan => {
  if (dry.state !== 'succeeded') throw refusalOf(dry)
  const { data } = DryRun.safeParse(dry.result)
  if (data === undefined || !isOf(data.part, dry) || hashPart(data.part) !== data.part_hash)
    throw new ShoalError('conflict', `${dry.cellId} answered without a plan of ${dry.verb}`)
  return toCommandPlan(data.part, data.checks)
}

const isOf = (part: PlanPart, { cellId, verb, deviceId }: CommandRecord): boolean =>
  part.cell_id === cellId && part.verb === verb && part.device_id === deviceId

/** Rejection reasons that the requester can fix, with the parameter at fault. */
const REQUESTERS: Readonly<Record<string, string>> = {
  invalid_params: 'params',
  unknown_device: 'device_id',
  device_required: 'device_id',
  no_device: 'device_id',
  plan_too_large: 'params',
}

const refusalOf = ({ cellId, state, reason = state, message }: CommandRecord): ShoalError => {
  const text = message ?? `${cellId} says: ${reason}`
  const param = REQUESTERS[reason]
  if (param !== undefined) return new ShoalError('invalid_request', text, { param })
  const code: ErrorCode = isErrorCode(reason) ? reason : 'conflict'
  return new ShoalError(
    state === 'rejected' || state === 'failed' ? code : 'cell_unavailable',
    text,
  )
}
