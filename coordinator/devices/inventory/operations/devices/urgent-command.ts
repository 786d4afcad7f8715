import type { ShoalError } from '../../../../../shared/errors.ts'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import type { CommandRecord } from '../../../../fleet/control/command.ts'
import type { ControlViews } from '../../../../fleet/control/open.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import type { OperationPlan } from '../../../../kernel/declaration/plan.ts'
import type { Device } from '../../device.table.ts'
import type { DeviceViews } from '../../open.ts'
import type { CommandedDevices, LeftOut } from './find-commanded.ts'
import {
  type DeviceCommandInput,
  prepareCommandOf,
  type UrgentDeviceCommand,
} from './plan-device-command.ts'
import { createPartlyError, runOnEveryCell, type UrgentEnd } from './urgent-cells.ts'

/** A device that an urgent command cannot be sent to, and why. */
interface Unsendable {
  device: Device
  error: unknown
}

/** An urgent command for every device that its reference names. */
export interface UrgentPlan {
  commands: readonly [UrgentDeviceCommand, ...UrgentDeviceCommand[]]
  unsendable: readonly Unsendable[]
  leftOut: readonly LeftOut[]
}

/** End of an urgent command on one of several devices. */
interface DeviceEnd {
  device: Device
  /** Command to the cell; undefined for a device that it does not bring to rest. */
  command: CommandRecord | undefined
  reason: string | undefined
}

/** A command as it stands when the time is up. */
export interface DeviceCommandEnd {
  /**
   * Command of the device. Among several devices, it is the one that did not succeed, if any; among
   * several cells, that of the cell that the device belongs to, where it is reachable.
   */
  command: CommandRecord
  /** Every cell that an urgent command of this device was sent to; empty for others. */
  cells: readonly UrgentEnd[]
  /** Every device that an urgent command names; empty where that is one. */
  devices: readonly DeviceEnd[]
}

/** Prepares an urgent command. Throws the refusal of a device where no other device can get it. */
export const planUrgentCommand = (
  { devices, leftOut }: CommandedDevices,
  input: DeviceCommandInput,
  context: Pick<DeviceViews, 'devices'> & Pick<FleetViews, 'fleet'>,
): OperationPlan<UrgentPlan> => {
  const commands: UrgentDeviceCommand[] = []
  const unsendable: Unsendable[] = []
  for (const device of devices)
    try {
      const { request } = prepareCommandOf(device, input, context)
      commands.push({ device, request })
    } catch (error) {
      unsendable.push({ device, error })
    }
  const [first, ...others] = commands
  if (first === undefined) throw unsendable[0]?.error
  const named = devices.map(({ id, facts }) => `${facts.name} (${id})`).join(', ')
  const plan: UrgentPlan = { commands: [first, ...others], unsendable, leftOut }
  return { plan, summary: `${input.command} on ${named}` }
}

/**
 * Sends an urgent command to every cell of every device at the same time. Rejects when a device
 * could not be asked, with what became of the others.
 */
export const runUrgentCommand = async (
  { commands, unsendable, leftOut }: UrgentPlan,
  context: Context & ControlViews & FleetViews,
): Promise<DeviceCommandEnd> => {
  const ends = await Promise.allSettled(commands.map(each => runOnEveryCell(each, context)))
  const ended = ends.flatMap((end, at) => {
    const device = commands[at]?.device
    return end.status === 'fulfilled' && device ? [{ device, ...end.value }] : []
  })
  const refused = ends.find(({ status }) => status === 'rejected')
  const error = refused?.status === 'rejected' ? refused.reason : unsendable[0]?.error
  if (error !== undefined) throw ended.length === 0 ? error : createDeviceError(error, ended)
  const decisive = ended.find(({ command }) => command.state !== 'succeeded') ?? ended[0]
  if (decisive === undefined) throw new Error('an urgent command has no end')
  const { command, cells } = decisive
  const devices: DeviceEnd[] = [
    ...ended.map(end => ({ ...end, reason: end.command.reason })),
    ...leftOut.map(one => ({ ...one, command: undefined })),
  ]
  return { command, cells, devices: devices.length > 1 ? devices : [] }
}

/** The other devices were asked all the same: the error names what they did. */
const createDeviceError = (
  cause: unknown,
  ended: readonly { device: Device; command: CommandRecord }[],
): ShoalError => {
  const told = ended.map(({ device, command }) => `${device.id}: ${command.state}`).join(', ')
  return createPartlyError(cause, `other devices of this name received it, ${told}`)
}
