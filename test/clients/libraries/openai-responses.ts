import OpenAI, { type APIError } from 'openai'
import {
  abortedAfterFirst,
  type LibraryRequest,
  type MakeLibrary,
  SCHEMA,
  TOOL,
} from './library.ts'

const tools = [{ type: 'function' as const, ...TOOL, strict: true }]
const tool_choice = { type: 'function' as const, name: TOOL.name }

const request = ({ model, text, temperature = 0, maxTokens }: LibraryRequest) => ({
  model,
  input: text,
  temperature,
  ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
})

/** `openai`, the Responses API. */
export const openaiResponses: MakeLibrary = (baseURL, apiKey) => {
  const { responses } = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
  const texts = async function* (ask: LibraryRequest, signal: AbortSignal) {
    const stream = await responses.create({ ...request(ask), stream: true }, { signal })
    for await (const event of stream)
      if (event.type === 'response.output_text.delta') yield event.delta
  }
  return {
    name: 'openai, responses',
    finishes: { stop: 'completed', tool: 'completed', length: 'incomplete' },
    chat: async ask => toReply(await responses.create(request(ask))),
    stream: async ask => {
      const stream = responses.stream(request(ask))
      let pieces = 0
      stream.on('response.output_text.delta', () => pieces++)
      return { ...toReply(await stream.finalResponse()), pieces }
    },
    tool: async ask => toToolCall(await responses.create({ ...request(ask), tools, tool_choice })),
    toolStream: async ask => {
      const stream = responses.stream({ ...request(ask), tools, tool_choice })
      return toToolCall(await stream.finalResponse())
    },
    json: async ask => {
      const format = { type: 'json_schema' as const, name: 'kind', schema: SCHEMA, strict: true }
      const response = await responses.parse({ ...request(ask), text: { format } })
      return JSON.parse(response.output_text)
    },
    abort: ask => abortedAfterFirst(async signal => texts(ask, signal)),
    abortsQuietly: true,
    fault: error => ({ status: (error as APIError).status, code: (error as APIError).code }),
  }
}

const toReply = ({ output_text, status, usage }: OpenAI.Responses.Response) => ({
  text: output_text,
  finish: status,
  inputTokens: usage?.input_tokens,
  outputTokens: usage?.output_tokens,
})

const toToolCall = ({ output, status }: OpenAI.Responses.Response) => {
  const call = output.find(item => item.type === 'function_call')
  if (call === undefined) throw new Error('no function was called')
  return { name: call.name, input: JSON.parse(call.arguments), finish: status }
}
