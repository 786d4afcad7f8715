import { hash } from 'node:crypto'

/** Statements with lists of many lengths would otherwise fill the memory of the server. */
const MOST_NAMED = 500
/** Shapes that are counted until they are frequent enough to get a name. */
const MOST_COUNTED = 2000
/** A rare shape costs more as a plan that is kept than as one that is made again. */
const FREQUENT = 3

/**
 * A statement that returns every column must not be kept: PostgreSQL refuses its plan once another
 * version of shoal has added a column, in the middle of whatever transaction uses it then.
 */
const RETURNS_ALL = /\b(select|returning) \*|\.\*/

/**
 * A name that stands for this text alone: behind a pooler that mixes up the sessions of its clients,
 * the same name never runs another statement.
 */
const nameOf = (text: string, generation: number): string =>
  `shoal_${hash('sha256', text).slice(0, 32)}_${generation}`

/** Names for the statements that are worth preparing; the same in every connection of a pool. */
export class Statements {
  readonly #names = new Map<string, string>()
  readonly #uses = new Map<string, number>()
  /** Number of `clear`s: a name that a connection has stands for the old statement. */
  #generation = 0

  /** Undefined for a statement that is not prepared. */
  nameOf(text: string): string | undefined {
    const known = this.#names.get(text)
    if (known !== undefined || this.#names.size === MOST_NAMED || RETURNS_ALL.test(text))
      return known
    if (!this.#isFrequent(text)) return undefined
    const name = nameOf(text, this.#generation)
    this.#names.set(text, name)
    return name
  }

  /** Prepares every statement again, under a name that no connection has yet. */
  clear(): void {
    this.#names.clear()
    this.#uses.clear()
    this.#generation++
  }

  #isFrequent(text: string): boolean {
    const uses = (this.#uses.get(text) ?? 0) + 1
    this.#uses.delete(text)
    if (uses === FREQUENT) return true
    if (this.#uses.size === MOST_COUNTED) this.#uses.clear()
    this.#uses.set(text, uses)
    return false
  }
}
