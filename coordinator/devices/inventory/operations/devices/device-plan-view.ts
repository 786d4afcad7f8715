import * as z from 'zod'
import { iso } from '../../../../../shared/time.ts'
import { Hazard } from '../../../../../shared/wire/command.ts'
import { describeRequirement } from '../../../../../shared/wire/describe-check.ts'
import type { Precondition } from '../../../../../shared/wire/plan-part.ts'
import type { PlannedDeviceCommand } from './plan-device-command.ts'

const CheckView = z.object({
  name: z.string(),
  /** `warn`: the reading is unknown or stale, which only stops unsafe commands. */
  verdict: z.enum(['pass', 'warn', 'fail']),
  observed: z.json(),
  limit: z.json(),
  /** The limit in words, such as `at least 20` or `is_flying is false`; null for a check without one. */
  requires: z.string().nullable(),
  /** Source of the limit, such as `site` or `profile`; null for an interlock. */
  source: z.string().nullable(),
  warning: z.string().nullable(),
})

/** Effect that a command would have now, as its cell has planned it. */
export const DevicePlanView = z.object({
  device_id: z.string(),
  name: z.string(),
  command: z.string(),
  hazard: Hazard,
  /** Gate that must approve it; null without one. */
  gate: z.string().nullable(),
  /** True when every check passes now. */
  passes: z.boolean(),
  checks: z.array(CheckView),
  /** Operations exactly as they are sent to the device. */
  operations: z.array(z.json()),
  bounds: z.record(z.string(), z.json()),
  /** Hash that an approval covers. Readings are no part of it; the cell checks them again. */
  plan_hash: z.string(),
  /** Time at which a command, or a request at the gate, would expire if it were made now. */
  expires_at: z.iso.datetime(),
})

export const devicePlanViewOf = ({
  device,
  part,
  checks,
  gate,
  planHash,
  expiresAt,
}: PlannedDeviceCommand): z.input<typeof DevicePlanView> => ({
  device_id: device.id,
  name: device.facts.name,
  command: part.verb,
  hazard: part.hazard,
  gate: gate ?? null,
  passes: checks.every(({ holds }) => holds),
  checks: checks.map(checkViewOf),
  operations: part.operations,
  bounds: part.bounds,
  plan_hash: planHash,
  expires_at: iso(expiresAt),
})

/** A check as people read it, with its verdict. */
export const checkViewOf = (check: Precondition): z.input<typeof CheckView> => ({
  name: check.name,
  verdict: verdictOf(check),
  observed: check.observed,
  limit: check.limit,
  requires: describeRequirement(check) ?? null,
  source: check.source ?? null,
  warning: check.warning ?? null,
})

const verdictOf = ({ holds, warning }: Precondition): 'pass' | 'warn' | 'fail' => {
  if (!holds) return 'fail'
  return warning === undefined ? 'pass' : 'warn'
}
