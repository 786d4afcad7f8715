import * as z from 'zod'
import { isoOrNull } from '../../../../../shared/time.ts'
import { type Asked, type Seen, SeenState } from '../../../../../shared/wire/device-outcome.ts'

/** Instructions sent to a device, as the surfaces show them. */
export const AskedView = z.object({
  sent: z.array(
    z.object({
      name: z.string().describe('Operation, as the link of the device names it.'),
      answer: z.string().nullable().describe('Answer of the device; null when none came.'),
    }),
  ),
})

/** Observed state of a device, as the surfaces show it. */
export const SeenView = z.object({
  state: SeenState.describe('`unknown`: no reading since then shows it.'),
  at: z.iso.datetime().nullable().describe('Time of the newest reading used.'),
  values: z.record(z.string(), z.json()),
})

export const toAskedView = ({ sent }: Asked): z.input<typeof AskedView> => ({
  sent: sent.map(({ name, answer }) => ({ name, answer })),
})

export const toSeenView = ({ state, at, values }: Seen): z.input<typeof SeenView> => ({
  state,
  at: isoOrNull(at ?? undefined),
  values,
})
