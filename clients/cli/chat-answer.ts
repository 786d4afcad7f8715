import { escapeHiddenInJson, escapeHiddenInText } from '../../shared/visible.ts'
import type { ChatCompletionChunk } from '../../shared/wire/openai.ts'
import type { OpenSession } from './session.ts'

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant'
  content: string
}

export const systemMessages = (system: string | undefined): ChatMessage[] =>
  system === undefined ? [] : [{ role: 'system', content: system }]

interface Question {
  model: string
  messages: readonly ChatMessage[]
  /** Ends the answer, which then is what arrived before. */
  signal?: AbortSignal
}

/** Asks a model, writes its answer while it arrives, and returns the text. */
export const streamAnswer = async (
  { api, format, write, progress }: OpenSession,
  { model, messages, signal }: Question,
): Promise<string> => {
  // greedy: small models wander off when they are sampled
  const body = { model, stream: true, temperature: 0, messages }
  progress.show(`waiting for ${model}`)
  let text = ''
  try {
    for await (const chunk of api.stream('/v1/chat/completions', body, signal)) {
      progress.clear()
      const piece = (chunk as ChatCompletionChunk).choices[0]?.delta.content ?? ''
      text += piece
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
  return text
}
