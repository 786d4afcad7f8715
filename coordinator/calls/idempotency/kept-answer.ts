import * as z from 'zod'
import { detailsIn, detailsOf, errorCodes, httpStatus, ShoalError } from '../../../shared/errors.ts'

/** A larger answer is not stored. */
const MAX_ANSWER_BYTES = 256 * 1024

const Kept = z.union([
  z.object({ answer: z.unknown() }),
  z.object({
    error: z.object({
      code: z.enum(errorCodes),
      message: z.string(),
      param: z.string().exactOptional(),
      reason: z.string().exactOptional(),
      next: z.string().exactOptional(),
    }),
  }),
])

/** Text of an answer; undefined for one that is too large to be stored. */
export const answerText = (answer: unknown): string | undefined => textOf({ answer })

/**
 * Text of a refusal, which is an answer. A failure is none, and its changes need a look: undefined,
 * as for a text that is too large.
 */
export const refusalText = (error: unknown): string | undefined => {
  if (!(error instanceof ShoalError) || httpStatus(error.code) >= 500) return undefined
  const { code, message } = error
  const { retryAfterSeconds: _, ...details } = detailsOf(error)
  return textOf({ error: { code, message, ...details } })
}

/** Returns the answer of a stored text, and throws the refusal of one. */
export const parseAnswer = (text: string): unknown => {
  const kept = Kept.parse(JSON.parse(text))
  if (!('error' in kept)) return kept.answer
  const { code, message } = kept.error
  throw new ShoalError(code, message, detailsIn(kept.error))
}

const textOf = (kept: z.input<typeof Kept>): string | undefined => {
  const text = JSON.stringify(kept)
  return Buffer.byteLength(text) > MAX_ANSWER_BYTES ? undefined : text
}
