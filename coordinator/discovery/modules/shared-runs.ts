/** A run under way, with the callers that wait for it. */
interface Entry<R, P> {
  result: Promise<R>
  leave: AbortController
  listeners: Set<(progress: P) => void>
  callers: number
  /** Runs when no caller uses the result any more. */
  release: () => void
}

/** A result in use by one caller. */
export interface HeldResult<R> {
  result: R
  /** Runs once: what the result holds is given back when no caller uses it any more. */
  release(): void
}

/** Work that several callers share. */
export interface SharedWork<R, P> {
  start(signal: AbortSignal, report: (progress: P) => void): Promise<R>
  release(): void
}

/**
 * Runs equal work once: callers that come while it runs share its result, and it is aborted when the
 * last of them leaves.
 */
export class SharedRuns<R, P> {
  readonly #entries = new Map<string, Entry<R, P>>()

  /** Joins the run of this key, or starts one. Rejects as the run does, or when the caller leaves. */
  async join(
    key: string,
    work: () => SharedWork<R, P>,
    { signal, report }: { signal: AbortSignal; report: (progress: P) => void },
  ): Promise<HeldResult<R>> {
    const entry = this.#entries.get(key) ?? this.#start(key, work())
    entry.callers++
    entry.listeners.add(report)
    const release = (): void => {
      entry.listeners.delete(report)
      if (--entry.callers === 0) this.#end(key, entry)
    }
    try {
      return { result: await untilAborted(entry.result, signal), release }
    } catch (error) {
      release()
      throw error
    }
  }

  #start(key: string, work: SharedWork<R, P>): Entry<R, P> {
    const leave = new AbortController()
    const listeners = new Set<(progress: P) => void>()
    const report = (progress: P): void => {
      for (const listener of listeners) listener(progress)
    }
    const result = work.start(leave.signal, report)
    const entry = { result, leave, listeners, callers: 0, release: work.release }
    this.#entries.set(key, entry)
    // later callers begin a run of their own
    const forget = (): void => this.#forget(key, entry)
    result.then(forget, forget)
    return entry
  }

  #end(key: string, entry: Entry<R, P>): void {
    this.#forget(key, entry)
    entry.leave.abort()
    const { release } = entry
    entry.result.then(release, release)
  }

  #forget(key: string, entry: Entry<R, P>): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key)
  }
}

/** Rejects when the signal aborts, whatever becomes of the promise. */
const untilAborted = async <R>(promise: Promise<R>, signal: AbortSignal): Promise<R> => {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
