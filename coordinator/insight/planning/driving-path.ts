import { computeStartOffsets, NO_FLOAT_DAYS, type TaskTimes } from './critical-path.ts'
import type { Network } from './network.ts'

/** A critical path: tasks from the start to the end of the project, each driving the next one. */
interface DrivingPath {
  /** Indexes of tasks. */
  tasks: number[]
  /** Sum of the variances of the durations that make up its length, in square days. */
  variance: number
}

/** The best way to one end of a task, with the link it comes by; undefined from the start. */
interface Reach {
  variance: number
  link: number | undefined
}

/** 0 is the start of a task, 1 its finish, as in `Network.leavesFinish`. */
type End = 0 | 1
const FINISH = 1
type Reaches = readonly (readonly [Reach | undefined, Reach | undefined] | undefined)[]

/**
 * Finds the critical path with the largest variance. A task that the path enters and leaves at the
 * same end, as between two start-to-start links, adds no variance: its duration is no part of the
 * length.
 * @param times of the durations
 * @param variances of the durations, by task
 */
export const findDrivingPath = (
  network: Network,
  times: TaskTimes,
  durations: Float64Array,
  variances: Float64Array,
): DrivingPath => {
  const reaches = findReaches(network, times, durations, variances)
  const { from, order, leavesFinish } = network
  let last: { task: number; reach: Reach } | undefined
  for (const task of order) {
    const reach = reaches[task]?.[FINISH]
    const finish = (times.earlyStart[task] as number) + (durations[task] as number)
    if (reach === undefined || finish < times.durationDays - NO_FLOAT_DAYS) continue
    if (last === undefined || reach.variance >= last.reach.variance) last = { task, reach }
  }
  if (last === undefined) return { tasks: [], variance: 0 }
  const tasks = [last.task]
  let { link } = last.reach
  while (link !== undefined) {
    const task = from[link] as number
    tasks.push(task)
    link = reaches[task]?.[leavesFinish[link] as End]?.link
  }
  return { tasks: tasks.reverse(), variance: last.reach.variance }
}

/** Finds the best way to both ends of each task; undefined where no link and no start drives it. */
const findReaches = (
  network: Network,
  times: TaskTimes,
  durations: Float64Array,
  variances: Float64Array,
): Reaches => {
  const { from, leavesFinish, arrivesFinish } = network
  const drivers = listDrivers(network, times, durations)
  const reaches: [Reach | undefined, Reach | undefined][] = []
  const reachEnd = (task: number, end: End): Reach | undefined => {
    const own = variances[task] as number
    const startsFirst = (times.earlyStart[task] as number) < NO_FLOAT_DAYS
    const atOnce = { variance: end === FINISH ? own : 0, link: undefined }
    let best: Reach | undefined = startsFirst ? atOnce : undefined
    for (const link of drivers[task] ?? []) {
      const before = reaches[from[link] as number]?.[leavesFinish[link] as End]
      if (before === undefined) continue
      const variance = before.variance + (arrivesFinish[link] === end ? 0 : own)
      if (best === undefined || isBetter(variance, best)) best = { variance, link }
    }
    return best
  }
  for (const task of network.order) reaches[task] = [reachEnd(task, 0), reachEnd(task, FINISH)]
  return reaches
}

/** Lists the links that determine the early start of each task. */
const listDrivers = (
  network: Network,
  { earlyStart }: TaskTimes,
  durations: Float64Array,
): number[][] => {
  const { from, to } = network
  const drivers: number[][] = Array.from(durations, () => [])
  computeStartOffsets(network, durations).forEach((offset, link) => {
    const [task, next] = [from[link] as number, to[link] as number]
    const slack = (earlyStart[next] as number) - (earlyStart[task] as number) - offset
    if (slack < NO_FLOAT_DAYS) drivers[next]?.push(link)
  })
  return drivers
}

/** A link is better than none, because the path is longer with it; the first of equal links wins. */
const isBetter = (variance: number, best: Reach): boolean =>
  best.link === undefined ? variance >= best.variance : variance > best.variance
