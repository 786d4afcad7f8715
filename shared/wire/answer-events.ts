import * as z from 'zod'

/**
 * A streamed answer of a cell, on the link only: the coordinator asks with POST and a JSON body, and
 * the cell answers with one event a line. An answer without its `end` or `error` was cut off.
 */
export const EVENTS_TYPE = 'application/x-ndjson'

/** Largest body of a question, bytes. */
export const QUESTION_MAX_BYTES = 256 * 1024

/** Largest event, bytes; an item has 1 MiB at most. */
export const EVENT_MAX_BYTES = 1024 * 1024 + 4096

/** How far a call is, in a unit of its own; `total` is absent where nobody knows it. */
export const Progress = z.object({
  done: z.number().min(0),
  total: z.number().min(0).exactOptional(),
})
export type Progress = z.infer<typeof Progress>

/** One line. The shape of a value is a matter of the question. */
export const AnswerLine = z.discriminatedUnion('type', [
  z.object({ type: z.literal('item'), value: z.unknown() }),
  z.object({ type: z.literal('progress'), progress: Progress }),
  z.object({ type: z.literal('end') }),
  z.object({ type: z.literal('error'), code: z.string().max(64), message: z.string().max(500) }),
])
export type AnswerLine = z.infer<typeof AnswerLine>

/** A line that a reader of the answer gets. */
export type AnswerEvent = Extract<AnswerLine, { type: 'item' | 'progress' }>
