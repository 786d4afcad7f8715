import * as z from 'zod'
import { ShoalError } from '../../../../../shared/errors.ts'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import type { ControlViews } from '../../../../fleet/control/open.ts'
import { commandSuccess } from '../../../../fleet/control/operations/commands/command-success.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation, type Operation } from '../../../../kernel/declaration/operation.ts'
import type { OperationPlan } from '../../../../kernel/declaration/plan.ts'
import type { DeviceViews } from '../../open.ts'
import { DeviceCommandView, deviceCommandViewOf } from './device-command-view.ts'
import { EveryDeviceRef } from './device-ref.ts'
import { findCommandedDevices } from './find-commanded.ts'
import { prepareDeviceCommand } from './plan-device-command.ts'
import { RUN_SECONDS } from './run-device-command.ts'
import { planUrgentCommand, runUrgentCommand, type UrgentPlan } from './urgent-command.ts'

/** The operation for a verb that can only reduce risk: it needs no plan and no approval. */
export const defineUrgentOperation = (
  verb: 'stop' | 'hold' | 'land',
  description: string,
): Operation<Context & ControlViews & DeviceViews & FleetViews> =>
  defineOperation({
    id: `devices-${verb}`,
    description,
    method: 'POST',
    path: `/v1/devices/{device_id}/${verb}`,
    access: 'operator',
    effect: 'gated',
    timeoutSeconds: RUN_SECONDS,
    isEmergency: true,
    input: z.strictObject({ device_id: EveryDeviceRef }),
    answers: { kind: 'device_command' },
    output: DeviceCommandView,
    success: commandSuccess(),
    plan: ({ device_id }, context: DeviceViews & FleetViews) =>
      planUrgent({ device_id, command: verb }, context),
    run: async (plan: UrgentPlan, context: Context & ControlViews & FleetViews) =>
      deviceCommandViewOf(await runUrgentCommand(plan, context)),
  })

const planUrgent = (
  input: { device_id: string; command: string },
  context: DeviceViews & FleetViews,
): OperationPlan<UrgentPlan> => {
  const commanded = findCommandedDevices(input.device_id, input.command, context)
  if (commanded.isUrgent) return planUrgentCommand(commanded, input, context)
  const { name } = prepareDeviceCommand(input, context).device.facts
  throw new ShoalError(
    'invalid_request',
    `${input.command} of ${name} is not an urgent command; use devices run`,
    { param: 'device_id' },
  )
}
