import { hash32 } from '../../kernel/base/hash32.ts'

/**
 * Number derived from the first characters of a long prompt, so that a conversation returns to the
 * cell that has already read its beginning; undefined for a shorter prompt. The model is not
 * included: ids with the same weights share an engine and its cache.
 */
export const affinityOf = (body: unknown, prefixChars: number): number | undefined => {
  if (prefixChars === 0) return undefined
  const text = beginningOf(body, prefixChars)
  return text.length < prefixChars ? undefined : hash32(text.slice(0, prefixChars))
}

/**
 * Returns the texts of a request that an engine reads, in order, until there are enough characters;
 * the body must be valid.
 */
const beginningOf = (body: unknown, enough: number): string => {
  const { system, messages, prompt, instructions, input } = body as Record<string, unknown>
  let text = textOf(system) + textOf(prompt) + textOf(instructions) + textOf(input)
  if (Array.isArray(messages)) text = addContents(text, messages, enough)
  return Array.isArray(input) ? addContents(text, input, enough) : text
}

const addContents = (before: string, messages: readonly unknown[], enough: number): string => {
  let text = before
  for (let i = 0; i < messages.length && text.length < enough; i++)
    text += contentOf(messages[i] as { content?: unknown } | null)
  return text
}

const contentOf = (message: { content?: unknown } | null): string => {
  const content = message?.content
  if (!Array.isArray(content)) return textOf(content)
  let text = ''
  for (const part of content) text += textOf(part?.text)
  return text
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
