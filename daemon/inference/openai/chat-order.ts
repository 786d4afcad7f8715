import { ShoalError } from '../../../shared/errors.ts'
import type {
  ChatMessage,
  ChatRequest,
  Sampling as SamplingFields,
} from '../../../shared/wire/openai.ts'
import type { ToolCall } from '../../../shared/wire/openai-tools.ts'
import type { PlainCall, PlainMessage, SamplingOrder } from '../protocol.ts'

export const createInvalidFieldError = ({
  param,
  message,
}: {
  param: string | undefined
  message: string
}): ShoalError => new ShoalError('invalid_request', message, param === undefined ? {} : { param })

/** `system` comes first, `developer` is system, text parts are joined. */
export const plainMessages = ({ system, messages }: ChatRequest): PlainMessage[] => [
  ...(typeof system === 'string' ? [{ role: 'system' as const, text: system }] : []),
  ...messages.map(plainMessage),
]

const plainMessage = (message: ChatMessage): PlainMessage => {
  const text = plainText(message.content)
  if (message.role === 'developer') return { role: 'system', text }
  if (message.role === 'tool') return { role: 'tool', text, callId: message.tool_call_id }
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : []
  return {
    role: message.role,
    text,
    ...(calls.length > 0 && { calls: calls.map(plainCall) }),
  }
}

const plainCall = ({ id, function: { name, arguments: text } }: ToolCall): PlainCall => ({
  id,
  name,
  arguments: text,
})

const plainText = (content: ChatMessage['content']): string =>
  typeof content === 'string' ? content : (content ?? []).map(part => part.text).join('')

/** Absent means OpenAI's defaults. */
export const samplingOf = (
  request: Pick<ChatRequest, keyof typeof SamplingFields>,
  newSeed: () => number,
): SamplingOrder => ({
  temperature: request.temperature ?? 1,
  topP: request.top_p ?? 1,
  seed: typeof request.seed === 'number' ? foldSeed(request.seed) : newSeed(),
  stop: typeof request.stop === 'string' ? [request.stop] : (request.stop ?? []),
  frequencyPenalty: request.frequency_penalty ?? 0,
  presencePenalty: request.presence_penalty ?? 0,
  ...(request.top_k && { topK: request.top_k }),
  ...(request.min_p && { minP: request.min_p }),
  ...(request.repeat_penalty && { repeatPenalty: request.repeat_penalty }),
  logitBias: Object.entries(request.logit_bias ?? {}).map(([id, bias]) => [Number(id), bias]),
})

/** Any integer as one of the engine's seeds. 2^32-1 would mean a random one (LLAMA_DEFAULT_SEED). */
const foldSeed = (seed: number): number => ((seed % SEEDS) + SEEDS) % SEEDS
export const SEEDS = 2 ** 32 - 1

/** The seed of the n-th choice of one request: the choices differ, and come again with the seed. */
export const seedOfChoice = (seed: number, index: number): number => foldSeed(seed + index)
