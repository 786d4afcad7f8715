import * as z from 'zod'
import { type DeviceVerb, defineVerb, type PlanTarget } from '../../profile.ts'
import type { MavlinkOperation, MavlinkTarget } from './operations.ts'

const COMMAND_TIMEOUT_S = 10

type CreateOperation = (target: MavlinkTarget) => MavlinkOperation

/** Addressing of a vehicle in the operations of its plans. */
export const targetOf = ({ options }: PlanTarget): MavlinkTarget => ({
  target_system: Number(options.system_id),
  target_component: Number(options.component_id),
})

/** Creates a verb without parameters that is one command and ends with its acknowledgement. */
export const createPlainVerb = (
  create: CreateOperation,
  verb: Pick<DeviceVerb, 'description' | 'hazard'> &
    Partial<Pick<DeviceVerb, 'gate' | 'interlocks' | 'isUrgent'>>,
): DeviceVerb =>
  defineVerb({
    ...verb,
    params: z.strictObject({}),
    isIdempotent: true,
    timeoutSeconds: COMMAND_TIMEOUT_S,
    atEstop: 'land',
    plan: (_params, target) => ({ operations: [create(targetOf(target))] }),
  })

/** Creates a verb that only reduces risk: it skips every queue and gate. */
export const createHaltVerb = (description: string, create: CreateOperation): DeviceVerb =>
  createPlainVerb(create, { description, hazard: 'safe', isUrgent: true })
