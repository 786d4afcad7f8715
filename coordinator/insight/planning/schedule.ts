import { type CalendarFacts, WorkCalendar } from './calendar.ts'
import { computeTimes, type TaskTimes } from './critical-path.ts'
import { findDrivingPath } from './driving-path.ts'
import { buildNetwork, type Network, type PlannedTask } from './network.ts'
import { computeExpectedDays, deviationDays, estimateOf, type ThreePoint } from './three-point.ts'

/** The expected duration of a project by PERT. */
interface PertEstimate {
  meanDays: number
  /** Standard deviation of the critical path, whose durations count as independent. */
  deviationDays: number
  /** Critical path of the expected durations, as indexes of tasks. */
  path: readonly number[]
}

export interface Schedule {
  network: Network
  /** Estimates by the index of the task. */
  estimates: readonly ThreePoint[]
  times: TaskTimes
  /** One critical path, as indexes of tasks. */
  path: readonly number[]
  /** Undefined where no task has a range. */
  pert: PertEstimate | undefined
  /** Undefined without a start date. */
  calendar: WorkCalendar | undefined
}

/**
 * Schedules a project as early as possible. Throws ShoalError `invalid_request`, see
 * `buildNetwork` and `WorkCalendar`.
 */
export const createSchedule = (
  tasks: readonly PlannedTask[],
  startDate: string | undefined,
  calendar: CalendarFacts,
): Schedule => {
  const network = buildNetwork(tasks)
  const estimates = tasks.map(estimateOf)
  const times = computeTimes(network)
  const variances = Float64Array.from(estimates, each => deviationDays(each) ** 2)
  const hasRange = variances.some(variance => variance > 0)
  return {
    network,
    estimates,
    times,
    path: findDrivingPath(network, times, network.durations, variances).tasks,
    pert: hasRange ? estimatePert(network, estimates, variances) : undefined,
    calendar: startDate === undefined ? undefined : new WorkCalendar(startDate, calendar),
  }
}

const estimatePert = (
  network: Network,
  estimates: readonly ThreePoint[],
  variances: Float64Array,
): PertEstimate => {
  const expected = Float64Array.from(estimates, computeExpectedDays)
  const times = computeTimes(network, expected)
  const { tasks: path, variance } = findDrivingPath(network, times, expected, variances)
  return { meanDays: times.durationDays, deviationDays: Math.sqrt(variance), path }
}
