import * as z from 'zod'
import type { ChatMessage, ChatRequest } from '../../../../shared/wire/openai.ts'
import { FunctionTool, MAX_TOOLS } from '../../../../shared/wire/openai-tools.ts'
import { optional } from '../../../../shared/wire/optional.ts'
import type { Problem, RequestRules } from '../../../../shared/wire/read-request.ts'
import {
  ANSWER_FIELDS,
  findImages,
  findThinking,
  Images,
  responseFormat,
  samplingFields,
  tokenLimit,
} from './fields.ts'

const MAX_MESSAGES = 4096

const Call = z.object({
  id: optional(z.string().min(1).max(128)),
  function: z.object({
    name: z.string(),
    arguments: z.union([z.record(z.string(), z.unknown()), z.string()]),
  }),
})

const Message = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: optional(z.string()),
  /** An earlier thought of a model, which is not shown to it again. */
  thinking: optional(z.string()),
  tool_calls: optional(z.array(Call).max(MAX_TOOLS)),
  /** Function whose result a message of the role `tool` is. */
  tool_name: optional(z.string()),
  name: optional(z.string()),
  tool_call_id: optional(z.string().min(1).max(128)),
  images: Images,
})
type Message = z.infer<typeof Message>

/** Body of `POST /api/chat` (ollama/ollama, docs/api.md). */
export const OllamaChatRequest = z.object({
  ...ANSWER_FIELDS,
  messages: optional(z.array(Message).max(MAX_MESSAGES)),
  tools: optional(z.array(FunctionTool).max(MAX_TOOLS)),
})
export type OllamaChatRequest = z.infer<typeof OllamaChatRequest>

const findUnsupported = (request: OllamaChatRequest): Problem | undefined => {
  const { model, messages } = request
  const thinking = findThinking(request)
  if (thinking || !messages) return thinking
  const index = messages.findIndex(({ images }) => images && images.length > 0)
  return findImages(model, messages[index]?.images, `messages.${index}.images`)
}

export const OLLAMA_CHAT_RULES: RequestRules<OllamaChatRequest> = {
  schema: OllamaChatRequest,
  hasTools: true,
  findUnsupported,
}

/** The same request in OpenAI's format, for a model by its own id. */
export const toChatRequest = (body: OllamaChatRequest, model: string): ChatRequest => {
  const { messages, tools, format, options, logprobs, top_logprobs } = body
  const max_tokens = tokenLimit(options)
  const stream = body.stream !== false
  return {
    model,
    messages: toMessages(messages ?? []),
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
    ...(max_tokens !== undefined && { max_tokens }),
    ...samplingFields(options),
    ...responseFormat(format),
    ...(tools && tools.length > 0 && { tools }),
    ...(logprobs && { logprobs, ...(typeof top_logprobs === 'number' && { top_logprobs }) }),
  }
}

/** A call that has no result yet. */
interface OpenCall {
  id: string
  name: string
}

/** Ollama's messages name the function of a result; OpenAI's name the call. */
const toMessages = (messages: readonly Message[]): ChatMessage[] => {
  const open: OpenCall[] = []
  let calls = 0
  return messages.map(message => {
    const content = message.content ?? ''
    if (message.role === 'tool')
      return {
        role: 'tool',
        content,
        tool_call_id: message.tool_call_id ?? takeCall(open, message),
      }
    if (message.role !== 'assistant') return { role: message.role, content }
    const tool_calls = (message.tool_calls ?? []).map(call => {
      const { name, arguments: given } = call.function
      const id = call.id ?? `call_${calls++}`
      open.push({ id, name })
      const text = typeof given === 'string' ? given : JSON.stringify(given)
      return { id, type: 'function' as const, function: { name, arguments: text } }
    })
    return { role: 'assistant', content, ...(tool_calls.length > 0 && { tool_calls }) }
  })
}

/** Id of the call that a result belongs to: of that function, else the oldest. */
const takeCall = (open: OpenCall[], { tool_name, name }: Message): string => {
  const wanted = tool_name ?? name
  const at = Math.max(
    0,
    open.findIndex(call => call.name === wanted),
  )
  return open.splice(at, 1)[0]?.id ?? 'call_unknown'
}
