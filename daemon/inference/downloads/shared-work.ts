type Begin<P> = (signal: AbortSignal, tell: (progress: P) => void) => Promise<void>

interface Running<P> {
  done: Promise<void>
  abort: AbortController
  listeners: Set<(progress: P) => void>
  last: P | undefined
}

/** Work shared by several waiters, aborted when the last of them leaves. */
export class SharedWork<P> {
  readonly #running = new Map<string, Running<P>>()

  /** Joins the work of that name, or begins it. Rejects at once when the signal aborts. */
  async join(
    name: string,
    begin: Begin<P>,
    listener: (progress: P) => void,
    signal: AbortSignal,
  ): Promise<void> {
    for (;;) {
      const running = this.#running.get(name)
      if (running === undefined || !running.abort.signal.aborted) break
      // the one before still lets go of its files
      await running.done.catch(() => {})
    }
    signal.throwIfAborted()
    const running = this.#running.get(name) ?? this.#begin(name, begin)
    running.listeners.add(listener)
    if (running.last !== undefined) listener(running.last)
    await this.#follow(running, listener, signal)
  }

  #begin(name: string, begin: Begin<P>): Running<P> {
    const abort = new AbortController()
    const running: Running<P> = {
      abort,
      listeners: new Set(),
      last: undefined,
      done: begin(abort.signal, progress => {
        running.last = progress
        for (const listener of running.listeners) listener(progress)
      }).finally(() => this.#running.delete(name)),
    }
    this.#running.set(name, running)
    return running
  }

  #follow(
    { done, abort, listeners }: Running<P>,
    listener: (progress: P) => void,
    signal: AbortSignal,
  ) {
    return new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        listeners.delete(listener)
        if (listeners.size === 0) abort.abort()
        reject(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      done.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
    })
  }
}
