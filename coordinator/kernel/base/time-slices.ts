import { nextTurn, systemRuntime } from '../../../shared/runtime.ts'

/** Longest time that long work runs before other events get their turn. */
const SLICE_MS = 4

/**
 * Divides long work into slices. The returned function is called between two steps: once a slice
 * is used up, its promise resolves after the other events of the loop.
 */
export const createSlices = (nowMs: () => number = systemRuntime.nowMs) => {
  let startedMs = nowMs()
  return async (): Promise<void> => {
    if (nowMs() - startedMs < SLICE_MS) return
    await nextTurn(systemRuntime)
    startedMs = nowMs()
  }
}
