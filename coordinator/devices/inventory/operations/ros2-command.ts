import * as z from 'zod'
import { MAX_DATA_BYTES } from '../../../../devices/links/ros2/message-data.ts'
import { MessageType, TopicName } from '../../../../devices/links/ros2/names.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import type { GateViews } from '../../../access/gates/open.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { CommandRecord } from '../../../fleet/control/command.ts'
import type { ControlViews } from '../../../fleet/control/open.ts'
import { commandSuccess } from '../../../fleet/control/operations/commands/command-success.ts'
import {
  CommandView,
  commandViewOf,
} from '../../../fleet/control/operations/commands/command-view.ts'
import { limitJson } from '../../../kernel/declaration/bounded-json.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { EstopViews } from '../../estop/open.ts'
import type { Device } from '../device.table.ts'
import type { DeviceViews } from '../open.ts'
import { DeviceRef } from './devices/device-ref.ts'
import {
  type DeviceCommandPlan,
  isPlanned,
  planLiveCommand,
  RUN_SECONDS,
  runDeviceCommand,
} from './devices/run-device-command.ts'

/** Devices that an error names at most. */
const MAX_NAMED = 10

export default defineSkill({
  id: 'ros2-command',
  group: 'devices',
  name: 'ROS 2 command',
  description:
    'Publish a message on a topic of a ROS 2 robot after an approval, or read a read-only topic without data.',
  tags: ['devices', 'ros2', 'robot', 'physical'],
  access: 'operator',
  effect: 'gated',
  timeoutSeconds: RUN_SECONDS,
  needsCallKey: ({ data }) => data !== undefined,
  input: z.strictObject({
    device_id: DeviceRef.exactOptional(),
    topic: TopicName.describe('Topic, such as /lamp.'),
    msg_type: MessageType.describe('Type of its messages, such as std_msgs/msg/Bool.'),
    data: limitJson(z.record(z.string().max(128), z.json()), MAX_DATA_BYTES)
      .exactOptional()
      .describe('Message to publish; without it, one message of a read-only topic is read.'),
  }),
  examples: [
    { topic: '/lamp', msg_type: 'std_msgs/msg/Bool', data: { data: true } },
    {
      device_id: 'rover-1',
      topic: '/diagnostics',
      msg_type: 'diagnostic_msgs/msg/DiagnosticArray',
    },
  ],
  answers: { kind: 'device_command', field: 'outcome' },
  output: z.object({
    device_id: z.string(),
    name: z.string(),
    /** Text of the message that was read, as the tool prints it (YAML); null for a publication. */
    message: z.string().nullable(),
    outcome: CommandView,
  }),
  success: commandSuccess('outcome'),
  plan: (
    { device_id, ...message },
    context: Context & ControlViews & DeviceViews & EstopViews & FleetViews & GateViews,
  ) => {
    const device = chooseRobot(device_id, context)
    const command = message.data === undefined ? 'read' : 'publish'
    return planLiveCommand({ device_id: device.id, command, params: message }, context)
  },
  run: async (plan: DeviceCommandPlan, context: Context & ControlViews & FleetViews, approval) => {
    const { command: record } = await runDeviceCommand(plan, context, approval)
    const { id, facts } = isPlanned(plan) ? plan.device : plan.commands[0].device
    const outcome = commandViewOf(record)
    return { device_id: id, name: facts.name, message: readMessage(record), outcome }
  },
})

/**
 * The named robot, or the only one.
 * @throws ShoalError invalid_request for a device without ROS 2, and with several robots to choose from
 */
const chooseRobot = (
  reference: string | undefined,
  { devices }: Pick<DeviceViews, 'devices'>,
): Device => {
  const isRobot = (device: Device): boolean => devices.profile(device)?.link === 'ros2'
  if (reference !== undefined) {
    const device = devices.find(reference)
    if (isRobot(device)) return device
    throw refuse(`${device.facts.name} is not a robot with ROS 2: use device-command for it`)
  }
  const [first, ...others] = devices.list().filter(isRobot)
  if (first === undefined) throw refuse('no cell has a robot with ROS 2')
  if (others.length === 0) return first
  const named = [first, ...others]
    .slice(0, MAX_NAMED)
    .map(({ id, facts }) => `${facts.name} (${id})`)
  throw refuse(`${others.length + 1} robots have ROS 2, name one of them: ${named.join(', ')}`)
}

const refuse = (message: string): ShoalError =>
  new ShoalError('invalid_request', message, { param: 'device_id' })

const Read = z.object({ message: z.string() })

const readMessage = ({ result }: CommandRecord): string | null =>
  Read.safeParse(result).data?.message ?? null
