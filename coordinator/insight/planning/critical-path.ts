import type { Network } from './network.ts'

/** Floats below this are rounding errors, in working days. */
export const NO_FLOAT_DAYS = 1e-6

/** Times of all tasks in working days since the start of the project, by the index of the task. */
export interface TaskTimes {
  /** Earliest finish of the last task. */
  durationDays: number
  earlyStart: Float64Array
  lateStart: Float64Array
  /** Time by which a task can be late without a later end of the project. */
  totalFloat: Float64Array
  /** Time by which a task can be late without a later start of any other task, or of the end. */
  freeFloat: Float64Array
}

/**
 * Critical path method (Kelley and Walker, 1959) for links of all four types. Tasks are not split,
 * and none starts before the project does, also where a lead would allow it.
 */
export const computeTimes = (
  network: Network,
  durations: Float64Array = network.durations,
): TaskTimes => {
  const { from, to } = network
  const offsets = computeStartOffsets(network, durations)
  const earlyStart = new Float64Array(durations.length)
  for (let at = 0; at < offsets.length; at++) {
    const earliest = readNumber(earlyStart, readNumber(from, at)) + readNumber(offsets, at)
    if (earliest > readNumber(earlyStart, readNumber(to, at)))
      earlyStart[readNumber(to, at)] = earliest
  }
  let durationDays = 0
  durations.forEach((days, task) => {
    durationDays = Math.max(durationDays, readNumber(earlyStart, task) + days)
  })
  const lateStart = durations.map(days => durationDays - days)
  const freeFloat = lateStart.map((late, task) => late - readNumber(earlyStart, task))
  for (let at = offsets.length - 1; at >= 0; at--) {
    const [task, next, offset] = [readNumber(from, at), readNumber(to, at), readNumber(offsets, at)]
    lateStart[task] = Math.min(readNumber(lateStart, task), readNumber(lateStart, next) - offset)
    const slack = readNumber(earlyStart, next) - readNumber(earlyStart, task) - offset
    freeFloat[task] = Math.min(readNumber(freeFloat, task), slack)
  }
  const totalFloat = lateStart.map((late, task) => dropNoise(late - readNumber(earlyStart, task)))
  return { durationDays, earlyStart, lateStart, totalFloat, freeFloat: freeFloat.map(dropNoise) }
}

/** Least time from the start of the predecessor to the start of the successor of each link. */
export const computeStartOffsets = (network: Network, durations: Float64Array): Float64Array => {
  const { from, to, leavesFinish, arrivesFinish, lags } = network
  return lags.map(
    (lag, at) =>
      lag +
      readNumber(leavesFinish, at) * readNumber(durations, readNumber(from, at)) -
      readNumber(arrivesFinish, at) * readNumber(durations, readNumber(to, at)),
  )
}

const dropNoise = (days: number): number => (days < NO_FLOAT_DAYS ? 0 : days)

const readNumber = (values: Float64Array | Int32Array | Uint8Array, at: number): number =>
  values[at] as number
