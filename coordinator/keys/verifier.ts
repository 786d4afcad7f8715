import { timingSafeEqual } from 'node:crypto'
import { Lru } from './lru.ts'
import { digestOf } from './secret.ts'

/** What is stored about one secret. */
export interface Credential<T> {
  value: T
  /** SHA-256 of each secret that is live now, in hexadecimal. */
  digests: string[]
}

interface Known<T> {
  value: T | undefined
  digests: Buffer[]
}

export interface VerifierOptions<T> {
  /** Reads from the store; undefined for an id that does not exist. */
  load: (id: string) => Promise<Credential<T> | undefined>
  capacity?: number
}

/** Compared when the id is unknown, so that this takes as long as a wrong secret. */
const NOTHING: Known<never> = { value: undefined, digests: [Buffer.alloc(32)] }

/**
 * Checks secrets against their digests, from memory where it can. Ids that do not exist are
 * remembered apart, so that a flood of invented ones cannot push out the real ones.
 */
export class Verifier<T> {
  readonly #load: VerifierOptions<T>['load']
  readonly #known: Lru<string, Known<T>>
  readonly #unknown = new Lru<string, true>(4096)
  readonly #loading = new Map<string, Promise<Known<T>>>()

  constructor({ load, capacity = 50_000 }: VerifierOptions<T>) {
    this.#load = load
    this.#known = new Lru(capacity)
  }

  /** The value when the secret is right. Synchronous when the id is in memory. */
  verify(id: string, presented: string): T | undefined | Promise<T | undefined> {
    const digest = digestOf(presented)
    const known = this.#known.get(id) ?? (this.#unknown.get(id) && NOTHING)
    if (known !== undefined) return check(known, digest)
    return this.#fetch(id).then(loaded => check(loaded, digest))
  }

  /** To be called after the stored credential has changed. */
  forget(id: string): void {
    this.#known.delete(id)
    this.#unknown.delete(id)
    this.#loading.delete(id)
  }

  clear(): void {
    this.#known.clear()
    this.#unknown.clear()
    this.#loading.clear()
  }

  /** One read serves all who ask meanwhile. What was forgotten meanwhile is not remembered. */
  #fetch(id: string): Promise<Known<T>> {
    const running = this.#loading.get(id)
    if (running !== undefined) return running
    const loading: Promise<Known<T>> = this.#read(id)
      .then(known => {
        if (this.#loading.get(id) === loading) this.#remember(id, known)
        return known
      })
      .finally(() => {
        if (this.#loading.get(id) === loading) this.#loading.delete(id)
      })
    this.#loading.set(id, loading)
    return loading
  }

  async #read(id: string): Promise<Known<T>> {
    const found = await this.#load(id)
    if (found === undefined) return NOTHING
    return { value: found.value, digests: found.digests.map(text => Buffer.from(text, 'hex')) }
  }

  #remember(id: string, known: Known<T>): void {
    if (known.value === undefined) this.#unknown.set(id, true)
    else this.#known.set(id, known)
  }
}

const check = <T>({ value, digests }: Known<T>, digest: Buffer): T | undefined => {
  let matches = false
  for (const stored of digests) matches = timingSafeEqual(stored, digest) || matches
  return matches ? value : undefined
}
