import * as z from 'zod'
import { iso } from '../../../../../shared/time.ts'
import { AckState, CommandProgress, Hazard } from '../../../../../shared/wire/command.ts'
import type { CommandRecord } from '../../command.ts'
import { AskedView, SeenView, toAskedView, toSeenView } from './outcome-view.ts'

export const CommandView = z.object({
  id: z.string(),
  cell_id: z.string(),
  /** Null for a command to the cell itself. */
  device_id: z.string().nullable(),
  verb: z.string(),
  params: z.record(z.string(), z.json()),
  hazard: Hazard,
  mode: z.enum(['live', 'dry']),
  /** `unknown`: the cell has not reported the outcome; the command may or may not have run. */
  state: z.enum(['queued', 'sent', ...AckState.options]),
  reason: z.string().nullable(),
  message: z.string().nullable(),
  /** Null in lists where it is larger than 32 KiB. */
  result: z.json(),
  asked: AskedView.nullable().describe(
    'What was sent to the device, with its answers; null where the cell does not say it.',
  ),
  seen: SeenView.nullable().describe(
    'What was observed of the device afterwards; null where the cell does not say it.',
  ),
  /** Null unless it is executing and has reported some. */
  progress: CommandProgress.nullable(),
  requested_by: z.string(),
  issued_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
})

export const commandViewOf = (command: CommandRecord): z.input<typeof CommandView> => ({
  id: command.id,
  cell_id: command.cellId,
  device_id: command.deviceId ?? null,
  verb: command.verb,
  params: command.signed.params,
  hazard: command.hazard,
  mode: command.mode,
  state: command.state,
  reason: command.reason ?? null,
  message: command.message ?? null,
  result: (command.result ?? null) as z.core.util.JSONType,
  asked: command.asked === undefined ? null : toAskedView(command.asked),
  seen: command.seen === undefined ? null : toSeenView(command.seen),
  progress: command.progress ?? null,
  requested_by: command.requestedBy,
  issued_at: iso(command.issuedAt),
  expires_at: iso(command.expiresAt),
  updated_at: iso(command.updatedAt),
})
