import * as z from 'zod'

export const PinId = z.string().max(64).describe('Id of a decision: `pin_…`.')

/** The decision that a call made; `discovery-unpin` takes it back. */
export const PinMade = z.object({ pin_id: z.string() })
