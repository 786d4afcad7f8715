import * as z from 'zod'
import { CommandView, commandViewOf } from '../commands/command-view.ts'
import type { DeviceCommandEnd } from './run-device-command.ts'
import { MAX_CELLS } from './urgent-cells.ts'

/** Outcome of a command of a device. */
export const DeviceCommandView = CommandView.extend({
  cells: z
    .array(
      z.object({
        cell_id: z.string(),
        state: CommandView.shape.state.nullable().describe('Null where it could not be sent.'),
        reason: z.string().nullable(),
      }),
    )
    .describe(
      `Cells that announce the device and got an urgent command, at most ${MAX_CELLS}; empty for others.`,
    ),
})

export const deviceCommandViewOf = ({
  command,
  cells,
}: DeviceCommandEnd): z.input<typeof DeviceCommandView> => ({
  ...commandViewOf(command),
  cells: cells.map(({ cellId, command, reason }) => ({
    cell_id: cellId,
    state: command?.state ?? null,
    reason: reason ?? null,
  })),
})
