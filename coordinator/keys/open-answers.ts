import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import { actsFor, isLive, type Key } from './key.ts'

/** Something that is open under a key: a stream, a long call, a session. */
export interface Held {
  /** Ends it; called at most once, not after the release. */
  cut: (error: ShoalError) => void
  /** The tenant that it acts for; the key's home by default. */
  tenantId?: string | undefined
  /** What the key must still be for it, besides being live. */
  may?: (key: Key) => boolean
}

/**
 * What is open under keys, so that it ends when its key does: within a second after the key was
 * revoked, expired, lost the secret that was shown, or its person or tenant was disabled.
 */
export interface OpenAnswers {
  /** Answers how to let go again. A key that has changed since it was read is looked at again. */
  hold(key: Key, held: Held): () => void
  /** Looks again at one key, or at all that hold something; ends what they may not have any more. */
  look(id?: string): void
  close(): void
}

export interface OpenAnswersParts {
  /** The keys as they are now, an entry for each live secret. */
  read: (ids: readonly string[]) => Promise<readonly Key[]>
  /** Whether this is what is known of the key now. */
  isCurrent: (key: Key) => boolean
  logger: Pick<Logger, 'warn'>
  now: () => number
  /** Calls back once, later; answers how not to. */
  later?: ((run: () => void, milliseconds: number) => () => void) | undefined
}

/** Keys that one query asks for. */
const BATCH = 500
const RETRY_MS = 250
/** Ends of keys are looked for at most this often, so that many of them cost little. */
const LEAST_WAIT_MS = 50
/** By then the clock may have been set. */
const MOST_WAIT_MS = 1000
/** Keys that hold nothing now and are kept all the same, see `release`. */
const MAX_IDLE = 1000

/** `at`: its place in the list of its key. */
type Entry = Held & { key: Key; at: number }

export const createOpenAnswers = (parts: OpenAnswersParts): OpenAnswers => {
  const { read, isCurrent, logger, now, later = inTime } = parts
  /**
   * Lists, not sets: a `Set` that changes with every request makes new tables all the time, and those
   * it leaves keep what was in them, whole requests, until all of the memory is collected.
   */
  const byKey = new Map<string, Entry[]>()
  /** How many of them hold nothing. */
  let idle = 0
  /** Keys to look at. */
  let due = new Set<string>()
  let looking = false
  let closed = false
  /** When the next of the keys that hold something ends, unix milliseconds. */
  let nextEndAt = Infinity
  let stopTimer: (() => void) | undefined

  /** A key that calls again and again is not taken out and put in each time: `Lru` tells why. */
  const release = (entry: Entry): boolean => {
    const entries = byKey.get(entry.key.id)
    if (entries?.[entry.at] !== entry) return false
    const last = entries.pop()
    if (last !== undefined && last !== entry) {
      entries[entry.at] = last
      last.at = entry.at
    }
    if (entries.length === 0 && ++idle > MAX_IDLE) forgetIdle()
    return true
  }

  const forgetIdle = (): void => {
    for (const [id, entries] of byKey) if (entries.length === 0) byKey.delete(id)
    idle = 0
  }

  const end = (entry: Entry, error: ShoalError): void => {
    if (!release(entry)) return
    try {
      entry.cut(error)
    } catch (cause) {
      logger.warn({ err: cause, key: entry.key.id }, 'what was open under a key did not end')
    }
  }

  const judge = (ids: readonly string[], keys: readonly Key[]): void => {
    const found = Map.groupBy(keys, ({ id }) => id)
    for (const id of ids)
      for (const entry of [...(byKey.get(id) ?? [])]) {
        const key = found.get(id)?.find(({ secretId }) => secretId === entry.key.secretId)
        const error = faultOf(entry, key, now())
        if (error !== undefined) end(entry, error)
      }
  }

  const work = async (): Promise<void> => {
    looking = true
    while (due.size > 0 && !closed) {
      const ids = [...due].slice(0, BATCH)
      for (const id of ids) due.delete(id)
      try {
        judge(ids, await read(ids))
      } catch (error) {
        logger.warn({ err: error }, 'open answers could not be compared with their keys')
        due = new Set([...due, ...ids])
        await new Promise<void>(resolve => void later(resolve, RETRY_MS))
      }
    }
    looking = false
  }

  const look = (id?: string): void => {
    for (const each of id === undefined ? byKey.keys() : [id])
      if ((byKey.get(each)?.length ?? 0) > 0) due.add(each)
    if (due.size > 0 && !looking && !closed) void work()
  }

  const arm = (leastMs: number): void => {
    stopTimer?.()
    stopTimer = undefined
    if (nextEndAt === Infinity || closed) return
    stopTimer = later(tick, Math.min(MOST_WAIT_MS, Math.max(leastMs, nextEndAt - now())))
  }

  const tick = (): void => {
    if (now() >= nextEndAt) endExpired()
    arm(LEAST_WAIT_MS)
  }

  const endExpired = (): void => {
    const at = now()
    nextEndAt = Infinity
    for (const entries of [...byKey.values()])
      for (const entry of [...entries]) {
        const { expiresAt = Infinity } = entry.key
        if (expiresAt <= at) end(entry, ended())
        else nextEndAt = Math.min(nextEndAt, expiresAt)
      }
  }

  const hold: OpenAnswers['hold'] = (key, held) => {
    const entries = byKey.get(key.id)
    const entry: Entry = { ...held, key, at: entries?.length ?? 0 }
    if (entries === undefined) byKey.set(key.id, [entry])
    else {
      if (entries.length === 0) idle--
      entries.push(entry)
    }
    const { expiresAt = Infinity } = key
    if (expiresAt < nextEndAt) {
      nextEndAt = expiresAt
      arm(0)
    }
    if (!isCurrent(key)) look(key.id)
    return () => void release(entry)
  }

  const close = (): void => {
    closed = true
    stopTimer?.()
  }
  return { hold, look, close }
}

const ended = (): ShoalError => new ShoalError('auth_required', 'the key is not valid any more')

const faultOf = (entry: Entry, key: Key | undefined, now: number): ShoalError | undefined => {
  if (key === undefined || !isLive(key, now)) return ended()
  if (!actsFor(key, entry.tenantId ?? key.tenantId))
    return new ShoalError('tenant_forbidden', 'the key may not act for this tenant any more')
  if (entry.may?.(key) === false)
    return new ShoalError('forbidden', 'the key may not do this any more')
  return undefined
}

const inTime = (run: () => void, milliseconds: number): (() => void) => {
  const timer = setTimeout(run, milliseconds).unref()
  return () => clearTimeout(timer)
}
