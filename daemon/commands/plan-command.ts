import { ShoalError } from '../../shared/errors.ts'
import { firstIssue } from '../../shared/first-issue.ts'
import { type Command, Hazard } from '../../shared/wire/command.ts'
import { isPartSmall, LIVE_GATE, MAX_PART_BYTES, PlanPart } from '../../shared/wire/plan-part.ts'
import { type Refusal, rejected } from './outcome.ts'
import type { Verb } from './verb.ts'

/** A command, resolved to what this cell would do for it. */
export interface Planned {
  verb: Verb
  part: PlanPart
}

export const isRefusal = (planned: Planned | Refusal): planned is Refusal => 'state' in planned

/** Plans a command without touching anything, or says why this cell does not take it. */
export const planCommand = (verb: Verb, command: Command): Planned | Refusal => {
  const refusal = deviceRefusal(verb, command) ?? paramsRefusal(verb, command)
  if (refusal !== undefined) return refusal
  const hazard = verb.hazardOf?.(command.params) ?? verb.hazard
  if (severity(command.hazard) < severity(hazard))
    return rejected('hazard_mismatch', `${verb.verb} is ${hazard} here, not ${command.hazard}`)
  try {
    const part = partOf(verb, command, hazard)
    if (isPartSmall(part)) return { verb, part }
    return rejected('plan_too_large', `the plan is larger than ${MAX_PART_BYTES} bytes`)
  } catch (error) {
    const reason = error instanceof ShoalError ? error.code : 'no_plan'
    return rejected(reason, (error as Error).message)
  }
}

/** The hazards stand in order, mildest first. */
const severity = (hazard: Hazard): number => Hazard.options.indexOf(hazard)

const deviceRefusal = (verb: Verb, { device_id }: Command): Refusal | undefined => {
  if (verb.hasDevice === undefined)
    return device_id === undefined
      ? undefined
      : rejected('no_device', `${verb.verb} is of the cell itself`)
  if (device_id === undefined) return rejected('device_required', `${verb.verb} needs a device_id`)
  return verb.hasDevice(device_id)
    ? undefined
    : rejected('unknown_device', `this cell has no device ${device_id} that can ${verb.verb}`)
}

const paramsRefusal = (verb: Verb, { params }: Command): Refusal | undefined => {
  const checked = verb.params.safeParse(params)
  if (checked.success) return undefined
  return rejected('invalid_params', firstIssue(checked.error, params).message)
}

const partOf = (verb: Verb, { cell_id, device_id, params }: Command, hazard: Hazard): PlanPart => {
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
