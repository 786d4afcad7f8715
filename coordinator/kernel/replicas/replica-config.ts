import * as z from 'zod'
import { webUrl } from '../base/web-url.ts'

/** Name and address of this coordinator among those of a store. */
export const ReplicaConfig = z.strictObject({
  name: z
    .string()
    .regex(/^[\w.-]{1,64}$/)
    .optional()
    .describe(
      'Name of this coordinator in lists and in its log; in lists the name of the machine by default.',
    ),
  address: webUrl.describe(
    'Address at which cells reach this coordinator and no other, where several share a store. Without it they redial their known address until they have met all.',
  ),
})
export type ReplicaConfig = z.output<typeof ReplicaConfig>
