import * as z from 'zod'
import type { GateViews } from '../../../../access/gates/open.ts'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import type { ControlViews } from '../../../../fleet/control/open.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { EstopViews } from '../../../estop/open.ts'
import type { DeviceViews } from '../../open.ts'
import { DevicePlanView, devicePlanViewOf } from './device-plan-view.ts'
import { DEVICE_COMMAND, planDeviceCommand } from './plan-device-command.ts'
import { RUN_SECONDS } from './run-device-command.ts'

export default defineOperation({
  id: 'devices-plan',
  description:
    'Plan a command without carrying it out: its operations, safety checks and required gate.',
  method: 'POST',
  path: '/v1/devices/{device_id}/plan',
  access: 'operator',
  effect: 'read',
  timeoutSeconds: RUN_SECONDS,
  cli: { group: 'devices', verb: 'plan', words: ['command'], pairs: 'params' },
  input: z.strictObject(DEVICE_COMMAND),
  examples: [{ command: 'drive', params: { heading_degrees: 90, speed_m_s: 0.5, duration_s: 2 } }],
  output: DevicePlanView,
  run: async (
    input,
    context: Context & ControlViews & DeviceViews & EstopViews & FleetViews & GateViews,
  ) => devicePlanViewOf(await planDeviceCommand(input, context)),
})
