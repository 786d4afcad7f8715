import { setImmediate } from 'node:timers/promises'

/** Longest time that long work runs before other events get their turn. */
const SLICE_MS = 4

/**
 * Divides long work into slices. The returned function is called between two steps: once a slice
 * is used up, its promise resolves after the other events of the loop.
 */
export const createSlices = (nowMs: () => number = () => performance.now()) => {
  let startedMs = nowMs()
  return async (): Promise<void> => {
    if (nowMs() - startedMs < SLICE_MS) return
    await setImmediate()
    startedMs = nowMs()
  }
}
