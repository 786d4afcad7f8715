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
    const earliest = num(earlyStart, num(from, at)) + num(offsets, at)
    if (earliest > num(earlyStart, num(to, at))) earlyStart[num(to, at)] = earliest
  }
  let durationDays = 0
  durations.forEach((days, task) => {
    durationDays = Math.max(durationDays, num(earlyStart, task) + days)
  })
  const lateStart = durations.map(days => durationDays - days)
  const freeFloat = lateStart.map((late, task) => late - num(earlyStart, task))
  for (let at = offsets.length - 1; at >= 0; at--) {
    const [task, next, offset] = [num(from, at), num(to, at), num(offsets, at)]
    lateStart[task] = Math.min(num(lateStart, task), num(lateStart, next) - offset)
    const slack = num(earlyStart, next) - num(earlyStart, task) - offset
    freeFloat[task] = Math.min(num(freeFloat, task), slack)
  }
  const totalFloat = lateStart.map((late, task) => trim(late - num(earlyStart, task)))
  return { durationDays, earlyStart, lateStart, totalFloat, freeFloat: freeFloat.map(trim) }
}

/** Least time from the start of the predecessor to the start of the successor of each link. */
export const computeStartOffsets = (network: Network, durations: Float64Array): Float64Array => {
  const { from, to, leavesFinish, arrivesFinish, lags } = network
  return lags.map(
    (lag, at) =>
      lag +
      num(leavesFinish, at) * num(durations, num(from, at)) -
      num(arrivesFinish, at) * num(durations, num(to, at)),
  )
}

const trim = (days: number): number => (days < NO_FLOAT_DAYS ? 0 : days)

const num = (values: Float64Array | Int32Array | Uint8Array, at: number): number =>
  values[at] as number
