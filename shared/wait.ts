import { systemRuntime, type Wait, waitBy } from './runtime.ts'

export type { Wait }

/** Wait by the clock of the system. */
export const wait: Wait = waitBy(systemRuntime)

/** Resolves when the signal aborts, whatever the time; never rejects. */
export const waitUntilAborted: Wait = (_milliseconds, signal) =>
  new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
