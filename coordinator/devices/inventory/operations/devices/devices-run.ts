import * as z from 'zod'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import type { ControlViews } from '../../../../fleet/control/open.ts'
import { commandSuccess } from '../../../../fleet/control/operations/commands/command-success.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { DeviceCommandView, deviceCommandViewOf } from './device-command-view.ts'
import { DEVICE_COMMAND } from './plan-device-command.ts'
import {
  isOnceOnly,
  planLiveCommand,
  RUN_SECONDS,
  recallDeviceCommand,
  runDeviceCommand,
} from './run-device-command.ts'

export default defineOperation({
  id: 'devices-run',
  description:
    'Carry out a command on a device. Unsafe commands wait for an approval; failing checks refuse it.',
  method: 'POST',
  path: '/v1/devices/{device_id}/commands',
  access: 'operator',
  effect: 'gated',
  timeoutSeconds: RUN_SECONDS,
  needsCallKey: isOnceOnly,
  cli: { group: 'devices', verb: 'run', words: ['command'], pairs: 'params' },
  input: z.strictObject(DEVICE_COMMAND),
  examples: [{ command: 'drive', params: { heading_degrees: 90, speed_m_s: 0.5, duration_s: 2 } }],
  answers: { kind: 'device_command' },
  output: DeviceCommandView,
  success: commandSuccess(),
  plan: planLiveCommand,
  run: async (
    plan: Awaited<ReturnType<typeof planLiveCommand>>['plan'],
    context: Context & ControlViews & FleetViews,
    approval,
  ) => deviceCommandViewOf(await runDeviceCommand(plan, context, approval)),
  recall: async (created, context: Context & ControlViews) => {
    const end = await recallDeviceCommand(created, context)
    return end && deviceCommandViewOf(end)
  },
})
