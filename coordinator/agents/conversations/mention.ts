import type { Participant } from './conversation.ts'

/** Mention `@id` of a participant in a text. */
export interface Mention<P> {
  participant: P
  /** Index of the `@`. */
  start: number
  /** Index after the id. */
  end: number
}

/** Characters that may precede the `@`: an address such as ada@acme.com is not a mention. */
const BEFORE = /[\s([{"'`,;:]/

/**
 * Returns the participants mentioned in a text, in order, each once. Of two ids that match, the
 * longer one wins; a dot or colon after an id ends it, unless more of a word follows.
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

/** Returns the JSON object at the beginning of a text, after blanks; undefined if there is none. */
export const findLeadingObject = (text: string): string | undefined => {
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
