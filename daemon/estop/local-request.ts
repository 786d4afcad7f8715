import * as z from 'zod'
import { ESTOP_ID, LatchedStop, NO_REASON } from '../../shared/wire/estop.ts'

/** Name of the socket in the state folder through which the machine itself stops the cell. */
export const ESTOP_SOCKET = 'estop.sock'

/** Largest request and answer, in bytes. */
export const MAX_REQUEST_BYTES = 4096
export const MAX_ANSWER_BYTES = 1024 * 1024

const Reason = z.string().trim().min(1).max(300).default(NO_REASON)
const By = z.string().min(1).max(128)

/** Request of the machine itself, one line of JSON. */
export const LocalRequest = z.discriminatedUnion('action', [
  z.strictObject({
    action: z.literal('engage'),
    /** Id of a device, or the name of one or several; the whole cell when absent. */
    device: z.string().min(1).max(128).exactOptional(),
    reason: Reason,
    by: By,
  }),
  z.strictObject({ action: z.literal('status') }),
  z.strictObject({
    action: z.literal('release'),
    estop_id: z.string().regex(ESTOP_ID).exactOptional(),
    reason: Reason,
    by: By,
  }),
])
export type LocalRequest = z.infer<typeof LocalRequest>

export const LocalAnswer = z.union([
  z.strictObject({
    stops: z.array(LatchedStop).max(1024),
    /** False while the stops are in force and not on the disk. */
    is_saved: z.boolean(),
    /** Ids of the stops that this request has ended. */
    released: z.array(z.string()).max(1024),
    /** Names of the devices in these stops, by their id. */
    names: z.record(z.string().max(128), z.string().max(128)).default({}),
  }),
  z.strictObject({ error: z.string().max(1000) }),
])
export type LocalAnswer = z.infer<typeof LocalAnswer>
