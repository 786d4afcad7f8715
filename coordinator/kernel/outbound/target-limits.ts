import { MinuteWindow } from '../base/minute-window.ts'

/** Limits per host and port for this process: concurrent requests, and requests per minute. */
interface TargetLimits {
  /** Milliseconds to wait; 0 when the place is taken, which `leave` gives back. */
  enter(target: string): number
  leave(target: string): void
}

const CAPACITY = 10_000
/** Wait while all places are taken, because it is unknown when one becomes free. */
const BUSY_WAIT_MS = 1000

export const createTargetLimits = (
  limits: () => { concurrency: number; perMinute: number },
  nowMs: () => number,
): TargetLimits => {
  const busy = new Map<string, number>()
  const windows = new Map<string, MinuteWindow>()

  const windowOf = (target: string): MinuteWindow => {
    const window = windows.get(target) ?? new MinuteWindow()
    windows.delete(target)
    windows.set(target, window)
    const oldest = windows.size > CAPACITY ? windows.keys().next().value : undefined
    if (oldest !== undefined) windows.delete(oldest)
    return window
  }

  return {
    enter: target => {
      const { concurrency, perMinute } = limits()
      const count = busy.get(target) ?? 0
      if (count >= concurrency) return BUSY_WAIT_MS
      const window = windowOf(target)
      const waitMs = window.waitMs(perMinute, nowMs())
      if (waitMs > 0) return waitMs
      window.add(nowMs())
      busy.set(target, count + 1)
      return 0
    },
    leave: target => {
      const left = (busy.get(target) ?? 1) - 1
      if (left === 0) busy.delete(target)
      else busy.set(target, left)
    },
  }
}
