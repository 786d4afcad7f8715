import * as z from 'zod'
import {
  CommandView,
  commandViewOf,
} from '../../../../fleet/control/operations/commands/command-view.ts'
import { MAX_CELLS } from './urgent-cells.ts'
import type { DeviceCommandEnd } from './urgent-command.ts'

const State = CommandView.shape.state.nullable()

/** Outcome of a command of a device. */
export const DeviceCommandView = CommandView.extend({
  cells: z
    .array(
      z.object({
        cell_id: z.string(),
        state: State.describe('Null where it could not be sent.'),
        reason: z.string().nullable(),
      }),
    )
    .describe(
      `Cells that announce the device and got an urgent command, at most ${MAX_CELLS}; empty for others.`,
    ),
  devices: z
    .array(
      z.object({
        device_id: z.string(),
        name: z.string(),
        cell_id: z.string(),
        command_id: z.string().nullable(),
        state: State.describe('Null for a device that this command does not bring to rest.'),
        reason: z.string().nullable(),
      }),
    )
    .describe(
      'Devices that an urgent command named, where these are several; the state of the answer is that of one that did not succeed, if any.',
    ),
})

export const deviceCommandViewOf = ({
  command,
  cells,
  devices,
}: DeviceCommandEnd): z.input<typeof DeviceCommandView> => ({
  ...commandViewOf(command),
  cells: cells.map(({ cellId, command, reason }) => ({
    cell_id: cellId,
    state: command?.state ?? null,
    reason: reason ?? null,
  })),
  devices: devices.map(({ device, command, reason }) => ({
    device_id: device.id,
    name: device.facts.name,
    cell_id: command?.cellId ?? device.cellId,
    command_id: command?.id ?? null,
    state: command?.state ?? null,
    reason: reason ?? null,
  })),
})
