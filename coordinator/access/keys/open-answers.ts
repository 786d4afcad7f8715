import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import { createKeyEndedError, findKeyFault } from './key.ts'

/** Answer that is open under a key: a stream, a long call, a session. */
interface OpenAnswer {
  /** Ends the answer; called at most once, and not after the release. */
  cut: (error: ShoalError) => void
  /** Tenant that the call acts for; the key's home tenant by default. */
  tenantId?: string | undefined
  /** Condition that the key must still meet, besides being live. */
  isAllowed?: (key: Key) => boolean
}

export interface OpenAnswersParts {
  /** Reads the current keys, one entry per live secret. */
  read: (ids: readonly string[]) => Promise<readonly Key[]>
  /** True when the key equals its cached state. */
  isCurrent: (key: Key) => boolean
  logger: Pick<Logger, 'warn'>
  now: () => number
  /** Runs a function once, later; the returned function cancels it. */
  later: (run: () => void, milliseconds: number) => () => void
}

/** Number of keys per query. */
const BATCH = 500
const RETRY_MS = 250
/**
 * Shortest interval between two checks for expired keys, which limits the cost of many expiries.
 */
const LEAST_WAIT_MS = 50
/** Longest wait for an expiry, since the clock may be set meanwhile. */
const MOST_WAIT_MS = 1000
/** Maximum number of keys kept with an empty list, see `#release`. */
const MAX_IDLE = 1000

/** Open answer in the list of its key; `at` is its index. */
type Entry = OpenAnswer & { key: Key; at: number }

/**
 * Answers, streams and sessions that are open under keys. Each ends with its key: within a second
 * after the key was revoked, expired, lost the secret that was presented, or after its person or
 * tenant was disabled.
 */
export class OpenAnswers {
  readonly #parts: OpenAnswersParts
  /**
   * Lists, not sets: a `Set` that changes with every request allocates new tables all the time,
   * and the old ones keep whole requests alive until a full collection.
   */
  readonly #byKey = new Map<string, Entry[]>()
  /** Number of keys with an empty list. */
  #idle = 0
  /** Ids of keys to compare with the store. */
  #due = new Set<string>()
  #isLooking = false
  #isClosed = false
  /** Earliest expiry among the keys that hold something, Unix milliseconds. */
  #nextEndAt = Infinity
  #stopTimer: (() => void) | undefined

  constructor(parts: OpenAnswersParts) {
    this.#parts = parts
  }

  /**
   * Returns a function that releases the answer. A key that has changed since it was read is
   * compared again.
   */
  hold(key: Key, held: OpenAnswer): () => void {
    const entries = this.#byKey.get(key.id)
    const entry: Entry = { ...held, key, at: entries?.length ?? 0 }
    if (entries === undefined) this.#byKey.set(key.id, [entry])
    else {
      if (entries.length === 0) this.#idle--
      entries.push(entry)
    }
    const { expiresAt = Infinity } = key
    if (expiresAt < this.#nextEndAt) {
      this.#nextEndAt = expiresAt
      this.#arm(0)
    }
    if (!this.#parts.isCurrent(key)) this.look(key.id)
    return () => void this.#release(entry)
  }

  /**
   * Compares one key, or all keys with open answers, with the store and ends answers that are no
   * longer allowed.
   */
  look(id?: string): void {
    for (const each of id === undefined ? this.#byKey.keys() : [id])
      if ((this.#byKey.get(each)?.length ?? 0) > 0) this.#due.add(each)
    if (this.#due.size > 0 && !this.#isLooking && !this.#isClosed) void this.#compareDue()
  }

  close(): void {
    this.#isClosed = true
    this.#stopTimer?.()
  }

  /** An idle key keeps its empty list: a busy one would otherwise be added and removed each time. */
  #release(entry: Entry): boolean {
    const entries = this.#byKey.get(entry.key.id)
    if (entries?.[entry.at] !== entry) return false
    const last = entries.pop()
    if (last !== undefined && last !== entry) {
      entries[entry.at] = last
      last.at = entry.at
    }
    if (entries.length === 0 && ++this.#idle > MAX_IDLE) this.#forgetIdle()
    return true
  }

  #forgetIdle(): void {
    for (const [id, entries] of this.#byKey) if (entries.length === 0) this.#byKey.delete(id)
    this.#idle = 0
  }

  #end(entry: Entry, error: ShoalError): void {
    if (!this.#release(entry)) return
    try {
      entry.cut(error)
    } catch (cause) {
      this.#parts.logger.warn(
        { err: cause, key: entry.key.id },
        'an open answer could not be ended',
      )
    }
  }

  #judge(ids: readonly string[], keys: readonly Key[]): void {
    const found = Map.groupBy(keys, ({ id }) => id)
    for (const id of ids)
      for (const entry of [...(this.#byKey.get(id) ?? [])]) {
        const key = found.get(id)?.find(({ secretId }) => secretId === entry.key.secretId)
        const error = faultOf(entry, key, this.#parts.now())
        if (error !== undefined) this.#end(entry, error)
      }
  }

  async #compareDue(): Promise<void> {
    const { read, logger, later } = this.#parts
    this.#isLooking = true
    while (this.#due.size > 0 && !this.#isClosed) {
      const ids = [...this.#due].slice(0, BATCH)
      for (const id of ids) this.#due.delete(id)
      try {
        this.#judge(ids, await read(ids))
      } catch (error) {
        logger.warn({ err: error }, 'open answers could not be compared with their keys')
        this.#due = new Set([...this.#due, ...ids])
        await new Promise<void>(resolve => void later(resolve, RETRY_MS))
      }
    }
    this.#isLooking = false
  }

  #arm(leastMs: number): void {
    const { now, later } = this.#parts
    this.#stopTimer?.()
    this.#stopTimer = undefined
    if (this.#nextEndAt === Infinity || this.#isClosed) return
    const waitMs = Math.min(MOST_WAIT_MS, Math.max(leastMs, this.#nextEndAt - now()))
    this.#stopTimer = later(() => this.#tick(), waitMs)
  }

  #tick(): void {
    if (this.#parts.now() >= this.#nextEndAt) this.#endExpired()
    this.#arm(LEAST_WAIT_MS)
  }

  #endExpired(): void {
    const at = this.#parts.now()
    this.#nextEndAt = Infinity
    for (const entries of [...this.#byKey.values()])
      for (const entry of [...entries]) {
        const { expiresAt = Infinity } = entry.key
        if (expiresAt <= at) this.#end(entry, createKeyEndedError())
        else this.#nextEndAt = Math.min(this.#nextEndAt, expiresAt)
      }
  }
}

const faultOf = (entry: Entry, key: Key | undefined, now: number): ShoalError | undefined => {
  const fault = findKeyFault(key, entry.tenantId, now)
  if (fault !== undefined || key === undefined || entry.isAllowed?.(key) !== false) return fault
  return new ShoalError('forbidden', 'the key is no longer permitted to do this')
}
