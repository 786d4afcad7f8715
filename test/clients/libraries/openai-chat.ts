import OpenAI, { type APIError } from 'openai'
import {
  abortedAfterFirst,
  type LibraryRequest,
  type MakeLibrary,
  SCHEMA,
  TOOL,
} from './library.ts'

const tools = [{ type: 'function' as const, function: { ...TOOL, strict: true } }]
const tool_choice = { type: 'function' as const, function: { name: TOOL.name } }

const request = ({ model, text, temperature = 0, maxTokens }: LibraryRequest) => ({
  model,
  messages: [{ role: 'user' as const, content: text }],
  temperature,
  ...(maxTokens !== undefined && { max_completion_tokens: maxTokens }),
})

/** `openai`, chat completions. */
export const openaiChat: MakeLibrary = (baseURL, apiKey) => {
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
  const { completions } = client.chat
  const texts = async function* (ask: LibraryRequest, signal: AbortSignal) {
    const stream = await completions.create({ ...request(ask), stream: true }, { signal })
    for await (const chunk of stream) yield chunk.choices[0]?.delta.content ?? ''
  }
  return {
    name: 'openai, chat',
    finishes: { stop: 'stop', tool: 'tool_calls', length: 'length' },
    chat: async ask => {
      const { choices, usage } = await completions.create(request(ask))
      return {
        text: choices[0]?.message.content ?? '',
        finish: choices[0]?.finish_reason,
        inputTokens: usage?.prompt_tokens,
        outputTokens: usage?.completion_tokens,
      }
    },
    stream: async ask => {
      const options = { stream_options: { include_usage: true } }
      const stream = completions.stream({ ...request(ask), ...options })
      let pieces = 0
      stream.on('content', () => pieces++)
      const { choices, usage } = await stream.finalChatCompletion()
      return {
        text: choices[0]?.message.content ?? '',
        finish: choices[0]?.finish_reason,
        inputTokens: usage?.prompt_tokens,
        outputTokens: usage?.completion_tokens,
        pieces,
      }
    },
    tool: async ask => {
      const { choices } = await completions.create({ ...request(ask), tools, tool_choice })
      return toToolCall(choices[0])
    },
    toolStream: async ask => {
      const stream = completions.stream({ ...request(ask), tools, tool_choice })
      return toToolCall((await stream.finalChatCompletion()).choices[0])
    },
    json: async ask => {
      const json_schema = { name: 'kind', schema: SCHEMA, strict: true }
      const answer = await completions.parse({
        ...request(ask),
        response_format: { type: 'json_schema', json_schema },
      })
      return JSON.parse(answer.choices[0]?.message.content ?? '')
    },
    embed: async (model, input) =>
      (await client.embeddings.create({ model, input })).data.map(({ embedding }) => embedding),
    abort: ask => abortedAfterFirst(async signal => texts(ask, signal)),
    abortsQuietly: true,
    fault: error => ({ status: (error as APIError).status, code: (error as APIError).code }),
  }
}

const toToolCall = (choice: OpenAI.ChatCompletion.Choice | undefined) => {
  const call = choice?.message.tool_calls?.[0]
  if (call?.type !== 'function') throw new Error('no function was called')
  const { name, arguments: input } = call.function
  return { name, input: JSON.parse(input), finish: choice?.finish_reason }
}
