import * as z from 'zod'
import { newId } from '../ids.ts'
import { PROTOCOL_VERSION } from '../version.ts'

/**
 * Outer shape of every MQTT message, JSON in UTF-8. Unknown keys pass, so that a newer peer can add
 * some.
 */
export const Envelope = z.object({
  v: z.literal(PROTOCOL_VERSION),
  /**
   * Unique per message; a batch of history that is sent again keeps it. Receivers do not
   * deduplicate: most messages are idempotent, and a repeated sample only counts twice in its mean.
   */
  id: z.string().min(1).max(64),
  /** Cell id, or `coordinator`. */
  sender: z.string().min(1).max(64),
  /** Boot epoch of the sender: a counter on its disk that grows with every start. */
  epoch: z.int().nonnegative(),
  /** Unix time in milliseconds, by the sender's clock. */
  at: z.int().nonnegative(),
  type: z.string().min(1).max(64),
  body: z.unknown(),
})
export type Envelope = z.infer<typeof Envelope>

export const envelope = (
  sender: string,
  epoch: number,
  type: string,
  body: unknown,
  now: number = Date.now(),
): Envelope => ({ v: PROTOCOL_VERSION, id: newId('msg', now), sender, epoch, at: now, type, body })

/**
 * Presence of a cell on the `state` topic. A cell that shuts down cleanly publishes `stopped` just
 * before it disconnects; `lost` is its last will.
 */
export const StateBody = z.object({ state: z.enum(['ready', 'draining', 'stopped', 'lost']) })
export type StateBody = z.infer<typeof StateBody>

/** Presence of the coordinator on its own topic. */
export const CoordinatorBody = z.object({ state: z.enum(['online', 'offline']) })
export type CoordinatorBody = z.infer<typeof CoordinatorBody>
