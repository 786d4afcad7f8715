import { type CallAfter, callAfterBy, systemRuntime } from '../../shared/runtime.ts'

/** Time as the engines see it; tests bring their own. */
export interface Clock {
  /** Milliseconds; never jumps. */
  now(): number
  /** Runs once after the time; the answer calls it off. Never keeps the process alive. */
  callAfter: CallAfter
}

export const systemClock: Clock = {
  now: systemRuntime.nowMs,
  callAfter: callAfterBy(systemRuntime),
}
