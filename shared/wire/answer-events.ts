import * as z from 'zod'

/**
 * Streamed answer of a cell, on the link only: the coordinator sends POST with a JSON body, and the
 * cell answers with one event per line. An answer without `end` or `error` was cut off.
 */
export const EVENTS_TYPE = 'application/x-ndjson'

/** Largest request body, in bytes. */
export const QUESTION_MAX_BYTES = 256 * 1024

/** Largest event, in bytes; an item has 1 MiB at most. */
export const EVENT_MAX_BYTES = 1024 * 1024 + 4096

/** Progress of a call in its own unit; `total` is absent where it is unknown. */
export const CallProgress = z.object({
  done: z.number().min(0),
  total: z.number().min(0).exactOptional(),
})
export type CallProgress = z.infer<typeof CallProgress>

/** One line. The shape of a value depends on the request. */
export const AnswerLine = z.discriminatedUnion('type', [
  z.object({ type: z.literal('item'), value: z.unknown() }),
  z.object({ type: z.literal('progress'), progress: CallProgress }),
  z.object({ type: z.literal('end') }),
  z.object({ type: z.literal('error'), code: z.string().max(64), message: z.string().max(500) }),
])
export type AnswerLine = z.infer<typeof AnswerLine>

/** Events that a reader of the answer receives. */
export type AnswerEvent = Extract<AnswerLine, { type: 'item' | 'progress' }>
