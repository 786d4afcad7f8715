import { hash32 } from '../fleet/ring.ts'

/**
 * Where a long prompt belongs: a number of its first characters, so that a conversation comes back
 * to the cell that has read its beginning already. Undefined for a shorter one. The model is no
 * part of it: ids with the same weights share an engine and what it has read.
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

/** Everything of a request that an engine reads, in its order; bodies are valid here. */
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
