import * as z from 'zod'
import { CallProgress } from '../../shared/wire/answer-events.ts'
import { countItemBytes, type HelperFrame } from './protocol.ts'

/** Frame of a helper process, with the value and the size of an item. */
export type ParsedFrame =
  | Exclude<HelperFrame, { type: 'item' }>
  | { type: 'item'; id: number; value: unknown; bytes: number }

const id = z.int().min(0)

const Frame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready') }),
  z.object({ type: z.literal('item'), id, json: z.string() }),
  z.object({ type: z.literal('progress'), id, progress: CallProgress }),
  z.object({ type: z.literal('end'), id }),
  z.object({
    type: z.literal('error'),
    id,
    kind: z.enum(['failed', 'too_large']),
    reason: z.string(),
  }),
]) satisfies z.ZodType<HelperFrame>

/**
 * Parses a line of a helper process, whose foreign code may have corrupted anything. Undefined for
 * a line that is no frame, and for an item that is not JSON.
 */
export const parseFrame = (line: string): ParsedFrame | undefined => {
  try {
    const frame = Frame.parse(JSON.parse(line))
    if (frame.type !== 'item') return frame
    const { type, id, json } = frame
    return { type, id, value: JSON.parse(json), bytes: countItemBytes(json) }
  } catch {
    return undefined
  }
}
