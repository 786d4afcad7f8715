import { escapeHiddenInJson, escapeHiddenInText } from '../../shared/visible.ts'
import type { ChatCompletionChunk } from '../../shared/wire/openai.ts'
import type { ChatTools, ToolCall } from './chat-tools.ts'
import type { OpenSession } from './session.ts'

export type ChatMessage =
  | { role: 'system' | 'user'; content: string }
  | { role: 'assistant'; content: string; tool_calls?: ToolCall[] }
  | { role: 'tool'; content: string; tool_call_id: string }

export const systemMessages = (system: string | undefined): ChatMessage[] =>
  system === undefined ? [] : [{ role: 'system', content: system }]

interface Question {
  model: string
  messages: readonly ChatMessage[]
  /** Tools that the model may call; none when absent. */
  tools?: ChatTools | undefined
  /** Ends the answer, which then is what arrived before. */
  signal?: AbortSignal
}

interface Answer {
  text: string
  calls: ToolCall[]
}

/** Most answers with calls of tools to one question. */
const MAX_ROUNDS = 12

/**
 * Asks a model, writes its answer while it arrives, and makes the calls of tools in it until it
 * answers without one. Returns the messages that follow the question.
 */
export const answerQuestion = async (
  session: OpenSession,
  question: Question,
): Promise<ChatMessage[]> => {
  const { tools, signal } = question
  const said: ChatMessage[] = []
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const messages = [...question.messages, ...said]
    const { text, calls } = await streamAnswer(session, { ...question, messages })
    if (tools === undefined || calls.length === 0 || signal?.aborted === true)
      return [...said, { role: 'assistant', content: text }]
    if (text !== '' && session.format === 'text') session.write('\n')
    said.push({ role: 'assistant', content: text, tool_calls: calls })
    for (const call of calls)
      said.push({ role: 'tool', tool_call_id: call.id, content: await tools.run(call, signal) })
  }
  session.hint(`the model called tools ${MAX_ROUNDS} times without answering`)
  return said
}

const streamAnswer = async (
  { api, format, write, progress }: OpenSession,
  { model, messages, tools, signal }: Question,
): Promise<Answer> => {
  // greedy: small models wander off when they are sampled
  const body = {
    model,
    stream: true,
    temperature: 0,
    messages,
    ...(tools && { tools: tools.definitions }),
  }
  progress.show(`waiting for ${model}`)
  const answer: Answer = { text: '', calls: [] }
  try {
    for await (const chunk of api.stream('/v1/chat/completions', body, signal)) {
      progress.clear()
      const { content, tool_calls = [] } = (chunk as ChatCompletionChunk).choices[0]?.delta ?? {}
      const piece = content ?? ''
      answer.text += piece
      for (const delta of tool_calls) addDelta(answer.calls, delta)
      write(
        format === 'json'
          ? `${escapeHiddenInJson(JSON.stringify(chunk))}\n`
          : escapeHiddenInText(piece),
      )
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error
  } finally {
    progress.clear()
  }
  return answer
}

type Delta = NonNullable<ChatCompletionChunk['choices'][number]['delta']['tool_calls']>[number]

/** Adds a piece of a call. A call begins with the next free index; pieces of others are dropped. */
const addDelta = (calls: ToolCall[], { index, id, function: part }: Delta): void => {
  if (index === calls.length)
    calls.push({ id: '', type: 'function', function: { name: '', arguments: '' } })
  const call = calls[index]
  if (call === undefined) return
  if (id !== undefined) call.id = id
  call.function.name += part?.name ?? ''
  call.function.arguments += part?.arguments ?? ''
}
