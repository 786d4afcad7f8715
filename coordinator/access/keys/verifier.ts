import { timingSafeEqual } from 'node:crypto'
import type { LRUCache } from 'lru-cache'
import { createBoundedCache } from '../../kernel/base/bounded-cache.ts'
import { digestOf } from './secret.ts'

/** One secret that is live now. */
interface Credential<T> {
  /** Value that the credential identifies. */
  value: T
  /** SHA-256 of the secret, in hexadecimal. */
  digest: string
}

interface Secret<T> {
  value: T | undefined
  digest: Buffer
}
type Known<T> = readonly Secret<T>[]

export interface VerifierOptions<T> {
  /** The live secrets of an id, from the store; none for an id that does not exist. */
  load: (id: string) => Promise<readonly Credential<T>[]>
  /**
   * True while the store is unavailable or changes in it may be unknown: what is in memory still admits,
   * but a refusal may be out of date and is left to `load`, which may fail.
   */
  isAway?: () => boolean
  /** Look at the store that must come before any answer from memory; see `Revisions`. */
  lookAfterPause?: () => Promise<void> | undefined
  /** True where another process may have changed the store: a refusal is left to `load` then. */
  lags?: boolean
  /** Monotonic milliseconds. */
  nowMs: () => number
  capacity?: number
  /** SHA-256, and a comparison whose time does not depend on what differs. */
  digestOf?: (text: string) => Buffer
  isEqual?: (a: Buffer, b: Buffer) => boolean
}

/** Largest number of secrets of a key; that many are compared for every id, known or not. */
const COMPARED = 2
/** A refused id is loaded again at most this often, so that guesses do not occupy the store. */
const RELOAD_MS = 250
/** Refused ids that are kept. */
const MAX_REFUSED = 4096
const FILLER: Secret<never> = { value: undefined, digest: Buffer.alloc(32) }
const NOTHING: Known<never> = Array.from({ length: COMPARED }, () => FILLER)

/**
 * Checks secrets against their digests, from memory where possible. Each check is one digest and
 * `COMPARED` comparisons, regardless of id and secret, so that its duration reveals nothing about
 * either. For the same reason the first refusal of an id costs one load, whether its secrets are in
 * memory or it does not exist, and the following ones cost none. Unknown ids are cached separately,
 * so that a flood of invented ones cannot evict the real ones.
 */
export class Verifier<T> {
  readonly #load: VerifierOptions<T>['load']
  readonly #isAway: () => boolean
  readonly #lags: boolean
  readonly #nowMs: () => number
  readonly #lookAfterPause: () => Promise<void> | undefined
  readonly #digestOf: (text: string) => Buffer
  readonly #isEqual: (a: Buffer, b: Buffer) => boolean
  readonly #known: LRUCache<string, Known<T>>
  readonly #unknown = createBoundedCache<string, true>(MAX_REFUSED)
  /** Ids that have been loaded because of a refusal. */
  readonly #refused = createBoundedCache<string, true>(MAX_REFUSED)
  /** Monotonic milliseconds of the last load because of a refusal. */
  readonly #reloadedAt = createBoundedCache<string, number>(MAX_REFUSED)
  readonly #loading = new Map<string, Promise<Known<T>>>()

  constructor(options: VerifierOptions<T>) {
    const { load, capacity = 50_000, isEqual = timingSafeEqual } = options
    this.#load = load
    this.#isAway = options.isAway ?? (() => false)
    this.#lags = options.lags ?? false
    this.#nowMs = options.nowMs
    this.#lookAfterPause = options.lookAfterPause ?? (() => undefined)
    this.#digestOf = options.digestOf ?? digestOf
    this.#isEqual = isEqual
    this.#known = createBoundedCache(capacity)
  }

  /**
   * Returns the value when the secret is right. Synchronous when the id is in memory.
   * @param onLoad runs before the store is read; what it throws is thrown instead
   */
  verify(
    id: string,
    presented: string,
    onLoad: () => void = () => {},
  ): T | undefined | Promise<T | undefined> {
    return (
      this.#lookAfterPause()?.then(() => this.#verifyNow(id, presented, onLoad)) ??
      this.#verifyNow(id, presented, onLoad)
    )
  }

  #verifyNow(
    id: string,
    presented: string,
    onLoad: () => void,
  ): T | undefined | Promise<T | undefined> {
    const digest = this.#digestOf(presented)
    const known = this.#known.get(id) ?? (this.#unknown.get(id) && NOTHING)
    const found = known && this.#check(known, digest)
    if (found !== undefined) return found
    if (known !== undefined && this.#refused.has(id) && !this.#mustReload(id)) return undefined
    onLoad()
    return this.#fetch(id).then(loaded => {
      const now =
        known !== undefined && isSame(known, loaded) ? undefined : this.#check(loaded, digest)
      if (now === undefined) this.#refused.set(id, true)
      return now
    })
  }

  /**
   * True when this very value is in memory, which means that it has not changed since it was
   * returned.
   */
  isKnown(id: string, value: T): boolean {
    return this.#known.get(id)?.some(secret => secret.value === value) === true
  }

  /** Forgets a credential. The owner calls it after the stored credential has changed. */
  forget(id: string): void {
    this.#known.delete(id)
    this.#unknown.delete(id)
    this.#refused.delete(id)
    this.#loading.delete(id)
  }

  clear(): void {
    this.#known.clear()
    this.#unknown.clear()
    this.#refused.clear()
    this.#loading.clear()
  }

  #mustReload(id: string): boolean {
    if (this.#isAway()) return true
    if (!this.#lags) return false
    const now = this.#nowMs()
    if (now - (this.#reloadedAt.get(id) ?? Number.NEGATIVE_INFINITY) < RELOAD_MS) return false
    this.#reloadedAt.set(id, now)
    return true
  }

  #check(known: Known<T>, digest: Buffer): T | undefined {
    let found: T | undefined
    for (const secret of known) if (this.#isEqual(secret.digest, digest)) found = secret.value
    return found
  }

  /** Shares one read among concurrent callers. An id forgotten during the read is not cached. */
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
    if (found.length === 0) return NOTHING
    const secrets = found.map(({ value, digest }) => ({
      value,
      digest: Buffer.from(digest, 'hex'),
    }))
    return [...secrets, ...NOTHING.slice(secrets.length)]
  }

  #remember(id: string, known: Known<T>): void {
    if (known === NOTHING) {
      this.#known.delete(id)
      this.#unknown.set(id, true)
    } else {
      this.#unknown.delete(id)
      this.#known.set(id, known)
    }
  }
}

/** True for the same digests: a secret that was compared with one list need not be with the other. */
const isSame = <T>(one: Known<T>, two: Known<T>): boolean =>
  one.every(({ digest }, index) => two[index]?.digest.equals(digest))
