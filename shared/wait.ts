import { setTimeout as sleep } from 'node:timers/promises'

/** Resolves after the time, or immediately when the signal aborts; never rejects. */
export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<void>

export const wait: Wait = (milliseconds, signal) =>
  sleep(milliseconds, undefined, { signal }).catch(() => {})

/** Resolves when the signal aborts, whatever the time; never rejects. */
export const waitUntilAborted: Wait = (_milliseconds, signal) =>
  new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
