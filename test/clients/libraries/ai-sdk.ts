import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import {
  type APICallError,
  type EmbeddingModel,
  embedMany,
  generateText,
  jsonSchema,
  type LanguageModel,
  Output,
  streamText,
  type ToolSet,
  tool,
} from 'ai'
import { abortedAfterFirst, type Library, type LibraryRequest, SCHEMA, TOOL } from './library.ts'

const look = tool({
  description: TOOL.description,
  inputSchema: jsonSchema(TOOL.parameters as never),
})
const tools = { [TOOL.name]: look } as unknown as ToolSet
const toolChoice = { type: 'tool' as const, toolName: TOOL.name }

/** `ai` with one of its providers. */
const library = (
  name: string,
  model: (id: string) => LanguageModel,
  embedding?: (id: string) => EmbeddingModel,
): Library => {
  const request = ({ model: id, text, temperature = 0, maxTokens, signal }: LibraryRequest) => ({
    model: model(id),
    prompt: text,
    temperature,
    maxRetries: 0,
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(signal && { abortSignal: signal }),
  })
  /** Streams an answer; the library passes errors to a callback and ends the stream normally. */
  const streamWith = (ask: LibraryRequest, more: object = {}) => {
    let thrown: unknown
    const onError = ({ error }: { error: unknown }): void => {
      thrown = error
    }
    const stream = streamText({ ...request(ask), ...more, onError })
    return { stream, check: () => (thrown === undefined ? undefined : Promise.reject(thrown)) }
  }
  const texts = async function* (ask: LibraryRequest) {
    const { stream, check } = streamWith(ask)
    for await (const part of stream.fullStream) {
      if (part.type === 'text-delta') yield part.text
      if (part.type === 'abort') throw new DOMException('aborted', 'AbortError')
    }
    await check()
  }
  return {
    name,
    finishes: { stop: 'stop', tool: 'tool-calls', length: 'length' },
    chat: async ask => {
      const { text, finishReason, usage } = await generateText(request(ask))
      const { inputTokens, outputTokens } = usage
      return { text, finish: finishReason, inputTokens, outputTokens }
    },
    stream: async ask => {
      const { stream, check } = streamWith(ask)
      let pieces = 0
      for await (const part of stream.textStream) if (part !== '') pieces++
      await check()
      const { inputTokens, outputTokens } = await stream.usage
      const finish = await stream.finishReason
      return { text: await stream.text, finish, inputTokens, outputTokens, pieces }
    },
    tool: async ask => {
      const result = await generateText({ ...request(ask), tools, toolChoice })
      return readCalls(result.toolCalls, result.finishReason)
    },
    toolStream: async ask => {
      const { stream, check } = streamWith(ask, { tools, toolChoice })
      await stream.consumeStream()
      await check()
      return readCalls(await stream.toolCalls, await stream.finishReason)
    },
    json: async ask => {
      const schema = jsonSchema(SCHEMA as never)
      return (await generateText({ ...request(ask), output: Output.object({ schema }) })).output
    },
    ...(embedding && {
      embed: async (id, values) =>
        (await embedMany({ model: embedding(id), values, maxRetries: 0 })).embeddings,
    }),
    abort: ask => abortedAfterFirst(async signal => texts({ ...ask, signal })),
    fault: error => {
      const { statusCode, responseBody } = error as APICallError
      return { status: statusCode, code: JSON.parse(responseBody ?? '{}').error?.code }
    },
  }
}

const readCalls = (calls: readonly { toolName: string; input: unknown }[], finish: string) => {
  const [call] = calls
  if (call === undefined) throw new Error('no function was called')
  return { name: call.toolName, input: call.input, finish }
}

/** The two providers; the one for OpenAI also with its default, the Responses API. */
export const aiSdk = (baseURL: string, apiKey: string): Library[] => {
  const compatible = createOpenAICompatible({
    name: 'shoal',
    baseURL,
    apiKey,
    includeUsage: true,
    supportsStructuredOutputs: true,
  })
  const openai = createOpenAI({ baseURL, apiKey })
  return [
    library('ai, openai-compatible', compatible, id => compatible.embeddingModel(id)),
    library('ai, openai, responses', openai, id => openai.embedding(id)),
    library('ai, openai, chat', id => openai.chat(id)),
  ]
}
