import { setTimeout as sleep } from 'node:timers/promises'

/** Resolves after the time, or immediately when the signal aborts; never rejects. */
export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<void>

export const wait: Wait = (milliseconds, signal) =>
  sleep(milliseconds, undefined, { signal }).catch(() => {})
