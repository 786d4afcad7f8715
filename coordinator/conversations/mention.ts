import type { Participant } from './conversation.ts'

/** `@id` in a text, and the text behind it. */
export interface Mention<P> {
  participant: P
  /** Index of the sign. */
  start: number
  /** Index behind the id. */
  end: number
}

/** What may stand before the sign: an address such as ada@acme.com names nobody. */
const BEFORE = /[\s([{"'`,;:]/

/**
 * Who is named in a text, in its order, each once. Of two ids that both fit the longer one is meant;
 * a dot or colon behind an id ends it, unless more of a word follows.
 */
export const mentions = <P extends Pick<Participant, 'id'>>(
  text: string,
  participants: readonly P[],
): Mention<P>[] => {
  const longestFirst = participants.toSorted((a, b) => b.id.length - a.id.length)
  const lower = text.toLowerCase()
  const found: Mention<P>[] = []
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    if (at > 0 && !BEFORE.test(text[at - 1] ?? '')) continue
    const participant = longestFirst.find(({ id }) => isAt(lower, id.toLowerCase(), at + 1))
    if (participant === undefined || found.some(each => each.participant === participant)) continue
    found.push({ participant, start: at, end: at + 1 + participant.id.length })
  }
  return found
}

const isAt = (text: string, id: string, at: number): boolean => {
  if (!text.startsWith(id, at)) return false
  const rest = text.slice(at + id.length, at + id.length + 2)
  return !/^(?:[\p{L}\p{N}_/-]|[.:@][\p{L}\p{N}])/u.test(rest)
}

/** The JSON object that begins a text, after blanks; undefined when none does. */
export const leadingObject = (text: string): string | undefined => {
  const start = text.search(/\S/)
  if (start === -1 || text[start] !== '{') return undefined
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const char = text[at]
    if (char === '"') at = endOfString(text, at)
    else if (char === '{') depth++
    else if (char === '}' && --depth === 0) return text.slice(start, at + 1)
  }
  return text.slice(start)
}

const endOfString = (text: string, start: number): number => {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}
