import { MAX_PARAM_LENGTH, shortenText } from '../shorten-text.ts'

/** A field or a tool of a request that no schema knows, or that no model here has. */
export interface Ignored {
  /** Name in the header: the path without list indices, `messages.content.role`. */
  name: string
  /** Path in the request: `messages.0.content.1.role`. */
  param: string
  /** Refusal for a caller who wants nothing to be ignored. */
  message: string
}

/** Header of an answer: names of what was ignored, comma-separated, each percent-encoded. */
export const HEADER_IGNORED = 'x-shoal-ignored'

/** Bounds of the header, which stays below 1,300 bytes: proxies refuse headers of 4 to 8 KB. */
const MAX_NAMES = 20
const MAX_NAME_LENGTH = 64

/** Collects what a request has and nobody reads, each name once. */
export class IgnoredFields {
  readonly #found = new Map<string, Ignored>()

  add({ name, ...ignored }: Ignored): void {
    const short = name.slice(0, MAX_NAME_LENGTH)
    if (this.#found.size < MAX_NAMES && !this.#found.has(short))
      this.#found.set(short, { ...ignored, name: short })
  }

  addField(path: string): void {
    const name = path.replaceAll(INDEX, '')
    const param = shortenText(path, MAX_PARAM_LENGTH)
    this.add({ name, param, message: `unknown field ${param}` })
  }

  /** Adds the fields of `sent` that its parsed copy `read` lacks. */
  addUnread(sent: unknown, read: unknown, path = ''): void {
    if (sent === read || !isObject(sent) || !isObject(read)) return
    if (Array.isArray(sent)) {
      for (let at = 0; at < sent.length; at++)
        if (isObject(sent[at])) this.addUnread(sent[at], read[at], `${path}${at}.`)
      return
    }
    for (const key in sent) {
      if (!Object.hasOwn(read, key)) this.addField(path + key)
      else if (isObject(sent[key])) this.addUnread(sent[key], read[key], `${path}${key}.`)
    }
  }

  list(): Ignored[] {
    return [...this.#found.values()]
  }
}

const INDEX = /\.\d+(?=\.|$)/g

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** Value of the header; undefined when nothing was ignored. */
export const formatIgnoredHeader = (ignored: readonly Ignored[]): string | undefined =>
  ignored.length === 0
    ? undefined
    : ignored.map(({ name }) => encodeName(name.toWellFormed())).join(',')

/** Longest prefix of a name, in whole characters, that fits once encoded. */
const encodeName = (name: string): string => {
  let encoded = ''
  for (const character of name) {
    const longer = encoded + encodeURIComponent(character)
    if (longer.length > MAX_NAME_LENGTH) break
    encoded = longer
  }
  return encoded
}
