import * as z from 'zod'

/** openai/openai-openapi: ChatCompletionTokenLogprob. */
const TokenLogprob = z.object({
  token: z.string(),
  logprob: z.number().describe('Natural logarithm; -9999 for anything less likely.'),
  bytes: z
    .array(z.int())
    .nullable()
    .describe('UTF-8; null where a token is not a whole character.'),
})

export const ContentLogprob = TokenLogprob.extend({ top_logprobs: z.array(TokenLogprob) })
export type ContentLogprob = z.infer<typeof ContentLogprob>

export const ChoiceLogprobs = z.object({
  content: z.array(ContentLogprob).nullable(),
  refusal: z.null(),
})
export type ChoiceLogprobs = z.infer<typeof ChoiceLogprobs>
