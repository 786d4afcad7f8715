/** Counts the answers under way, so that a shutdown can wait for them. */
export interface InFlightAnswers {
  add(): void
  remove(): void
  isDraining(): boolean
  /** Refuses new work from now on; resolves when the last answer ended. */
  drain(): Promise<void>
}

export const createRunning = (): InFlightAnswers => {
  let count = 0
  let draining = false
  let idle: (() => void) | undefined
  return {
    add: () => {
      count++
    },
    remove: () => {
      count--
      if (count === 0) idle?.()
    },
    isDraining: () => draining,
    drain: () => {
      draining = true
      if (count === 0) return Promise.resolve()
      return new Promise(resolve => {
        idle = resolve
      })
    },
  }
}
