import { ShoalError } from '../../shared/errors.ts'
import { firstIssue } from '../../shared/first-issue.ts'
import { type Command, Hazard } from '../../shared/wire/command.ts'
import { isPartSmall, LIVE_GATE, MAX_PART_BYTES, PlanPart } from '../../shared/wire/plan-part.ts'
import { type CommandRefusal, toRejection } from './outcome.ts'
import type { Verb } from './verb.ts'

/** A command resolved to the actions of this cell. */
export interface PlannedCommand {
  verb: Verb
  part: PlanPart
}

export const isRefusal = (planned: PlannedCommand | CommandRefusal): planned is CommandRefusal =>
  'state' in planned

/** Plans a command without side effects, or explains why this cell refuses it. */
export const planCommand = (verb: Verb, command: Command): PlannedCommand | CommandRefusal => {
  const refusal = verb.findRefusal?.() ?? checkParams(verb, command)
  if (refusal !== undefined) return refusal
  const params = verb.params.parse(command.params)
  const hazard = verb.hazardOf?.(params) ?? verb.hazard
  if (rankHazard(command.hazard) < rankHazard(hazard))
    return toRejection('hazard_mismatch', `${verb.verb} is ${hazard} here, not ${command.hazard}`)
  try {
    const part = createPart(verb, command, params, hazard)
    if (isPartSmall(part)) return { verb, part }
    return toRejection('plan_too_large', `the plan is larger than ${MAX_PART_BYTES} bytes`)
  } catch (error) {
    const reason = error instanceof ShoalError ? error.code : 'no_plan'
    return toRejection(reason, (error as Error).message)
  }
}

/** Rank of a hazard, mildest first. */
const rankHazard = (hazard: Hazard): number => Hazard.options.indexOf(hazard)

const checkParams = (verb: Verb, { params }: Command): CommandRefusal | undefined => {
  const checked = verb.params.safeParse(params)
  if (checked.success) return undefined
  return toRejection('invalid_params', firstIssue(checked.error, params).message)
}

const createPart = (
  verb: Verb,
  { cell_id, device_id }: Command,
  params: Record<string, unknown>,
  hazard: Hazard,
): PlanPart => {
  const { operations, bounds, gate = verb.gate ?? LIVE_GATE } = verb.plan(params)
  return PlanPart.parse({
    cell_id,
    ...(device_id === undefined ? {} : { device_id }),
    verb: verb.verb,
    hazard,
    ...(hazard === 'unsafe' ? { gate } : {}),
    operations,
    bounds,
  })
}
