/** Time as the engines see it; tests bring their own. */
export interface Clock {
  /** Milliseconds; never jumps. */
  now(): number
  /** Runs once after the time; the answer calls it off. Never keeps the process alive. */
  callAfter(ms: number, run: () => void): () => void
}

export const systemClock: Clock = {
  now: () => performance.now(),
  callAfter: (ms, run) => {
    const timer = setTimeout(run, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
