import type { ChatRequest } from './openai.ts'
import type { Problem } from './read-request.ts'

type Samplers = Pick<ChatRequest, 'logit_bias' | 'top_k' | 'repeat_penalty' | 'repetition_penalty'>

/** Each is looked at for each generated token. */
const MAX_BIASES = 1024

export const findTooManyBiases = ({ logit_bias }: Samplers): Problem | undefined =>
  Object.keys(logit_bias ?? {}).length > MAX_BIASES
    ? { param: 'logit_bias', message: `logit_bias has more than ${MAX_BIASES} tokens` }
    : undefined

/** The same request with the samplers of other servers under our names. */
export const nameSamplers = <T extends Samplers>(request: T): T => {
  const { top_k: kept, repetition_penalty: penalty, ...rest } = request
  if (kept !== -1 && penalty === undefined) return request
  return {
    ...rest,
    ...(typeof kept === 'number' && { top_k: Math.max(0, kept) }),
    ...(rest.repeat_penalty === undefined && { repeat_penalty: penalty }),
  } as T
}
