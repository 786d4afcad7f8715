import * as z from 'zod'
import type { GateViews } from '../../../access/gates/open.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { ControlViews } from '../../../fleet/control/open.ts'
import { commandSuccess } from '../../../fleet/control/operations/commands/command-success.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { EstopViews } from '../../estop/open.ts'
import type { DeviceViews } from '../open.ts'
import { DeviceCommandView, deviceCommandViewOf } from './devices/device-command-view.ts'
import { DevicePlanView, devicePlanViewOf } from './devices/device-plan-view.ts'
import { DEVICE_COMMAND } from './devices/plan-device-command.ts'
import {
  type DeviceCommandPlan,
  isOnceOnly,
  isPlanned,
  planDryCommand,
  planLiveCommand,
  RUN_SECONDS,
  recallDeviceCommand,
  runDeviceCommand,
} from './devices/run-device-command.ts'

export default defineSkill({
  id: 'device-command',
  group: 'devices',
  name: 'Device command',
  description:
    'Plan or run a command on a device. Safety checks are enforced; unsafe commands need approval.',
  tags: ['devices', 'commands', 'safety'],
  access: 'operator',
  effect: 'gated',
  reasons: ['estop_holds', 'device_ambiguous'],
  timeoutSeconds: RUN_SECONDS,
  needsCallKey: ({ dry_run, ...input }, views: DeviceViews) => !dry_run && isOnceOnly(input, views),
  input: z.strictObject({
    ...DEVICE_COMMAND,
    dry_run: z.boolean().default(true).describe('Return the plan without moving anything.'),
  }),
  examples: [
    {
      device_id: 'rover-1',
      command: 'drive',
      params: { heading_degrees: 90, speed_m_s: 0.5, duration_s: 2 },
    },
  ],
  answers: { kind: 'device_command', field: 'outcome' },
  output: z.object({
    /** Null for stop, hold and land, which are carried out without one, and for a repeated call whose first answer was lost. */
    plan: DevicePlanView.nullable(),
    /** Null in a dry run. Its state is not final when it takes longer than the call. */
    outcome: DeviceCommandView.nullable(),
  }),
  success: commandSuccess('outcome'),
  plan: (
    { dry_run, ...input },
    context: Context & ControlViews & DeviceViews & EstopViews & FleetViews & GateViews,
  ) => (dry_run ? planDryCommand(input, context) : planLiveCommand(input, context)),
  show: (plan: DeviceCommandPlan) => ({ plan: viewOf(plan), outcome: null }),
  run: async (plan: DeviceCommandPlan, context: Context & ControlViews & FleetViews, approval) => ({
    plan: viewOf(plan),
    outcome: deviceCommandViewOf(await runDeviceCommand(plan, context, approval)),
  }),
  recall: async (created, context: Context & ControlViews) => {
    const end = await recallDeviceCommand(created, context)
    return end && { plan: null, outcome: deviceCommandViewOf(end) }
  },
})

const viewOf = (plan: DeviceCommandPlan) => (isPlanned(plan) ? devicePlanViewOf(plan) : null)
