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
  const refusal = checkDevice(verb, command) ?? checkParams(verb, command)
  if (refusal !== undefined) return refusal
  const hazard = verb.hazardOf?.(command.params) ?? verb.hazard
  if (rankHazard(command.hazard) < rankHazard(hazard))
    return toRejection('hazard_mismatch', `${verb.verb} is ${hazard} here, not ${command.hazard}`)
  try {
    const part = createPart(verb, command, hazard)
    if (isPartSmall(part)) return { verb, part }
    return toRejection('plan_too_large', `the plan is larger than ${MAX_PART_BYTES} bytes`)
  } catch (error) {
    const reason = error instanceof ShoalError ? error.code : 'no_plan'
    return toRejection(reason, (error as Error).message)
  }
}

/** Rank of a hazard, mildest first. */
const rankHazard = (hazard: Hazard): number => Hazard.options.indexOf(hazard)

const checkDevice = (verb: Verb, { device_id }: Command): CommandRefusal | undefined => {
  if (verb.hasDevice === undefined)
    return device_id === undefined
      ? undefined
      : toRejection('no_device', `${verb.verb} takes no device_id: it is a verb of the cell itself`)
  if (device_id === undefined)
    return toRejection('device_required', `${verb.verb} needs a device_id`)
  return verb.hasDevice(device_id)
    ? undefined
    : toRejection(
        'unknown_device',
        `this cell has no device ${device_id} that supports ${verb.verb}`,
      )
}

const checkParams = (verb: Verb, { params }: Command): CommandRefusal | undefined => {
  const checked = verb.params.safeParse(params)
  if (checked.success) return undefined
  return toRejection('invalid_params', firstIssue(checked.error, params).message)
}

const createPart = (
  verb: Verb,
  { cell_id, device_id, params }: Command,
  hazard: Hazard,
): PlanPart => {
  const { operations, bounds } = verb.plan(verb.params.parse(params), device_id)
  return PlanPart.parse({
    cell_id,
    ...(device_id === undefined ? {} : { device_id }),
    verb: verb.verb,
    hazard,
    ...(hazard === 'unsafe' ? { gate: verb.gate ?? LIVE_GATE } : {}),
    operations,
    bounds,
  })
}
