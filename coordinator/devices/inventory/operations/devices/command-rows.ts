import * as z from 'zod'
import { Hazard } from '../../../../../shared/wire/command.ts'
import { DeviceVerbFacts } from '../../../../../shared/wire/device.ts'
import { LIVE_GATE } from '../../../../../shared/wire/plan-part.ts'

/** A command that a device accepts. */
export const AllowedCommand = z.object({
  command: z.string(),
  hazard: Hazard.describe('Highest hazard over all parameters.'),
  hazard_rule: z
    .string()
    .nullable()
    .describe('How the hazard depends on the parameters; null where it does not.'),
  gate: z.string().nullable().describe('Gate of its unsafe uses; null without one.'),
  urgent: z.boolean().describe('True for stop, hold and land, which skip every queue and gate.'),
})

const { description, timeout_seconds, idempotent, at_estop, params } = DeviceVerbFacts.shape

/** A command with its parameters, as its profile declares it. */
export const CommandDetails = AllowedCommand.extend({
  description,
  timeout_seconds,
  idempotent,
  at_estop,
  params,
})

export const allowedCommandOf = ({
  verb,
  hazard,
  hazard_rule,
  gate = LIVE_GATE,
  urgent = false,
}: DeviceVerbFacts): z.input<typeof AllowedCommand> => ({
  command: verb,
  hazard,
  hazard_rule: hazard_rule ?? null,
  gate: hazard === 'unsafe' ? gate : null,
  urgent,
})

export const commandDetailsOf = (facts: DeviceVerbFacts): z.input<typeof CommandDetails> => ({
  ...allowedCommandOf(facts),
  description: facts.description,
  timeout_seconds: facts.timeout_seconds,
  idempotent: facts.idempotent,
  at_estop: facts.at_estop,
  params: facts.params,
})
