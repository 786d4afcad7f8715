import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import type { Context } from '../context.ts'
import { defineOperation, type Operation } from '../operation.ts'
import { DeviceCommandView, deviceCommandViewOf } from './device-command-view.ts'
import { SimilarDeviceRef } from './device-ref.ts'
import { prepareDeviceCommand, type UrgentDeviceCommand } from './plan-device-command.ts'
import { RUN_SECONDS, runDeviceCommand } from './run-device-command.ts'

/** The operation for a verb that can only reduce risk: it needs no plan and no approval. */
export const defineUrgentOperation = (
  verb: 'stop' | 'hold' | 'land',
  description: string,
): Operation =>
  defineOperation({
    id: `devices-${verb}`,
    description,
    method: 'POST',
    path: `/v1/devices/{device_id}/${verb}`,
    access: 'operator',
    effect: 'gated',
    timeoutSeconds: RUN_SECONDS,
    isEmergency: true,
    input: z.strictObject({ device_id: SimilarDeviceRef }),
    output: DeviceCommandView,
    plan: ({ device_id }, context) => {
      const plan = prepareUrgentCommand(device_id, verb, context)
      return { plan, summary: `${verb} ${plan.device.facts.name}` }
    },
    run: async (plan: UrgentDeviceCommand, context) =>
      deviceCommandViewOf(await runDeviceCommand(plan, context, undefined)),
  })

const prepareUrgentCommand = (
  device_id: string,
  command: string,
  context: Context,
): UrgentDeviceCommand => {
  const { facts, ...prepared } = prepareDeviceCommand({ device_id, command }, context)
  if (facts.urgent === true) return prepared
  const { name } = prepared.device.facts
  throw new ShoalError('invalid_request', `${command} of ${name} is no urgent command; run it`, {
    param: 'device_id',
  })
}
