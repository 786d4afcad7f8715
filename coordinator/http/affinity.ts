import { hash32 } from '../base/hash32.ts'

/**
 * Number derived from the first characters of a long prompt, so that a conversation returns to the
 * cell that has already read its beginning; undefined for a shorter prompt. The model is not
 * included: ids with the same weights share an engine and its cache.
 */
export const affinityOf = (body: unknown, prefixChars: number): number | undefined => {
  if (prefixChars === 0) return undefined
  let text = ''
  for (const piece of textsOf(body)) {
    text += piece
    if (text.length >= prefixChars) return hash32(text.slice(0, prefixChars))
  }
  return undefined
}

/** Yields every text of a request that an engine reads, in order; the body must be valid. */
function* textsOf(body: unknown): Generator<string> {
  const { system, messages, prompt, instructions, input } = body as Record<string, unknown>
  for (const text of [system, prompt, instructions, input]) if (typeof text === 'string') yield text
  for (const list of [messages, input]) {
    if (!Array.isArray(list)) continue
    for (const message of list) yield* contentOf(message)
  }
}

function* contentOf(message: unknown): Generator<string> {
  const content = (message as { content?: unknown } | null)?.content
  if (typeof content === 'string') yield content
  if (!Array.isArray(content)) return
  for (const part of content as { text?: unknown }[])
    if (typeof part?.text === 'string') yield part.text
}
