/**
 * Placeholders for user text while a template is rendered: unguessable marks that are replaced by
 * plain text afterwards, so that a `<|im_end|>` in user text stays text.
 */
export class Marks {
  readonly texts: string[] = []
  readonly #nonce: string

  /** @param nonce unguessable and new for each prompt */
  constructor(nonce: string) {
    this.#nonce = nonce
  }

  /** White space at both ends stays outside of the mark: many templates trim. */
  text(text: string): string {
    if (text.trim() === '') return text
    return readLeadingSpace(text) + this.#mark(text) + readTrailingSpace(text)
  }

  /** A JSON value for a template that will write it as JSON; its longer words become marks. */
  json(value: unknown): unknown {
    if (typeof value === 'string') return this.#word(value)
    if (Array.isArray(value)) return value.map(one => this.json(one))
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value)
    return Object.fromEntries(entries.map(([name, one]) => [this.#word(name), this.json(one)]))
  }

  /** Splits rendered text: every second part is the number of a text. */
  split(rendered: string): string[] {
    return rendered.split(new RegExp(`\\{${this.#nonce}:(\\d+)\\}`))
  }

  /** Templates compare words such as `object`; those stay, and cannot be special tokens. */
  #word(text: string): string {
    return /^[\w .,-]*$/.test(text) ? text : this.text(JSON.stringify(text).slice(1, -1))
  }

  #mark(text: string): string {
    return `{${this.#nonce}:${this.texts.push(text) - 1}}`
  }
}

export const readLeadingSpace = (text: string): string =>
  text.slice(0, text.length - text.trimStart().length)
export const readTrailingSpace = (text: string): string => text.slice(text.trimEnd().length)
