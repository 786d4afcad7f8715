import { ContextOverflowError } from '@langchain/core/errors'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { abortedAfterFirst, type Library, type LibraryRequest, SCHEMA, TOOL } from './library.ts'

const tools = [{ type: 'function' as const, function: TOOL }]

interface Message {
  text: string
  response_metadata: Record<string, unknown>
  usage_metadata?: { input_tokens: number; output_tokens: number } | undefined
  tool_calls?: { name: string; args: unknown }[]
}

/** `@langchain/openai`, with chat completions or with the Responses API. */
const library = (baseURL: string, apiKey: string, useResponsesApi: boolean): Library => {
  const configuration = { baseURL }
  const model = ({ model, temperature = 0, maxTokens }: LibraryRequest): ChatOpenAI =>
    new ChatOpenAI({
      model,
      apiKey,
      configuration,
      useResponsesApi,
      temperature,
      maxRetries: 0,
      ...(maxTokens !== undefined && { maxTokens }),
    })
  const finishOf = ({ response_metadata: of }: Message) =>
    (useResponsesApi ? of.status : of.finish_reason) as string | undefined
  const toReply = (message: Message) => ({
    text: message.text,
    finish: finishOf(message),
    inputTokens: message.usage_metadata?.input_tokens,
    outputTokens: message.usage_metadata?.output_tokens,
  })
  const toToolCall = (message: Message) => {
    const [call] = message.tool_calls ?? []
    if (call === undefined) throw new Error('no function was called')
    return { name: call.name, input: call.args, finish: finishOf(message) }
  }
  const concatStream = async <T extends { concat(other: T): T }>(
    stream: AsyncIterable<T>,
    onChunk: (chunk: T) => void,
  ): Promise<T> => {
    let whole: T | undefined
    for await (const chunk of stream) {
      onChunk(chunk)
      whole = whole === undefined ? chunk : whole.concat(chunk)
    }
    if (whole === undefined) throw new Error('the stream was empty')
    return whole
  }
  const texts = async function* (ask: LibraryRequest, signal: AbortSignal) {
    for await (const chunk of await model(ask).stream(ask.text, { signal })) yield chunk.text
  }
  return {
    name: `@langchain/openai, ${useResponsesApi ? 'responses' : 'chat'}`,
    finishes: useResponsesApi
      ? { stop: 'completed', tool: 'completed', length: 'incomplete' }
      : { stop: 'stop', tool: 'tool_calls', length: 'length' },
    chat: async ask => toReply((await model(ask).invoke(ask.text)) as Message),
    stream: async ask => {
      let pieces = 0
      const stream = await model(ask).stream(ask.text)
      const message = await concatStream(stream, chunk => {
        if (chunk.text !== '') pieces++
      })
      return { ...toReply(message as Message), pieces }
    },
    tool: async ask => {
      const bound = model(ask).bindTools(tools, { tool_choice: TOOL.name })
      return toToolCall((await bound.invoke(ask.text)) as Message)
    },
    toolStream: async ask => {
      const bound = model(ask).bindTools(tools, { tool_choice: TOOL.name })
      return toToolCall((await concatStream(await bound.stream(ask.text), () => {})) as Message)
    },
    json: ask =>
      model(ask)
        .withStructuredOutput(SCHEMA as never, { method: 'jsonSchema', name: 'kind' })
        .invoke(ask.text),
    ...(!useResponsesApi && {
      embed: (id, values) =>
        new OpenAIEmbeddings({ model: id, apiKey, configuration, maxRetries: 0 }).embedDocuments(
          values,
        ),
    }),
    abort: ask => abortedAfterFirst(async signal => texts(ask, signal)),
    // it wraps a context that is too long, which it knows by the code, in an error of its own
    fault: error =>
      (ContextOverflowError.isInstance(error) ? error.cause : error) as {
        status: unknown
        code: unknown
      },
  }
}

export const langchain = (baseUrl: string, apiKey: string): Library[] => [
  library(baseUrl, apiKey, false),
  library(baseUrl, apiKey, true),
]
