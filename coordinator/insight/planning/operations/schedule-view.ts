import * as z from 'zod'
import { nextTurn } from '../../../../shared/runtime.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import type { PlanningViews } from '../open.ts'
import { createSchedule, type Schedule } from '../schedule.ts'
import { PERCENTILES, type SimulationResult } from '../simulate.ts'
import { computeExpectedDays, deviationDays, normalCdf, type ThreePoint } from '../three-point.ts'
import { type ScheduleInput, type TaskInput, toPlannedTasks } from './schedule-input.ts'

const DateView = z.string().nullable().describe('Date, `2027-01-31`; null without start_date.')

const TaskView = z.object({
  id: z.string(),
  name: z.string(),
  is_milestone: z.boolean(),
  /** Total float is 0. */
  is_critical: z.boolean(),
  duration_days: z.number(),
  /** Working days since the start of the project. */
  early_start_days: z.number(),
  early_finish_days: z.number(),
  late_start_days: z.number(),
  late_finish_days: z.number(),
  total_float_days: z.number(),
  free_float_days: z.number(),
  /** Date of the early start. */
  start_date: DateView,
  /** Date of the early finish. */
  finish_date: DateView,
  /** Expected duration and deviation by PERT. */
  expected_days: z.number(),
  standard_deviation_days: z.number(),
  /** Share of the runs in which the task is critical; null without a simulation. */
  criticality_percent: z.number().nullable(),
})

const Probability = z.number().nullable().describe('From 0 to 100; null without target_days.')

const Pert = z.object({
  mean_days: z.number(),
  /** Standard deviation of the critical path, whose durations count as independent. */
  standard_deviation_days: z.number(),
  /** Critical path of the expected durations. */
  critical_path: z.array(z.string()),
  finish_date: DateView,
  target_probability_percent: Probability,
})

const Percentile = z.object({ percent: z.number(), days: z.number(), finish_date: DateView })

const Simulation = z.object({
  runs: z.int(),
  seed: z.int(),
  distribution: z.string(),
  mean_days: z.number(),
  standard_deviation_days: z.number(),
  min_days: z.number(),
  max_days: z.number(),
  /** Durations that so many percent of the runs do not exceed. */
  percentiles: z.array(Percentile),
  /** Share of the runs that do not exceed `duration_days` of the project. */
  duration_probability_percent: z.number(),
  target_probability_percent: Probability,
})

export const SCHEDULE_VIEW = {
  duration_days: z.number(),
  start_date: DateView,
  finish_date: DateView,
  /** A path of tasks that determines the duration; there may be more of them. */
  critical_path: z.array(z.string()),
  tasks: z.array(TaskView),
  /** Null when no task has an optimistic and a pessimistic value. */
  pert: Pert.nullable(),
  /** Null with 0 runs, and when no task has an optimistic and a pessimistic value. */
  simulation: Simulation.nullable(),
}
const ScheduleView = z.object(SCHEDULE_VIEW)
type ScheduleView = z.input<typeof ScheduleView>

/** Parts of a call that a schedule needs. */
type PlanningContext = Pick<Context, 'key' | 'signal' | 'runtime'> & PlanningViews

/**
 * Schedules the tasks and simulates them where they have ranges. Each step takes a turn of the
 * event loop, since each takes milliseconds for a thousand tasks. Throws ShoalError: see
 * `createSchedule` and `Simulations.run`.
 */
export const planSchedule = async (
  input: ScheduleInput,
  context: PlanningContext,
): Promise<{ schedule: Schedule; view: ScheduleView }> => {
  const { tasks, start_date, working_days: workingDays, holidays } = input
  await nextTurn(context.runtime)
  const schedule = createSchedule(toPlannedTasks(tasks), start_date, { workingDays, holidays })
  const hasRuns = schedule.pert !== undefined && input.runs > 0
  const result = hasRuns ? await simulateSchedule(schedule, input, context) : undefined
  await nextTurn(context.runtime)
  const view = viewSchedule(schedule, input, result)
  await nextTurn(context.runtime)
  return { schedule, view }
}

const simulateSchedule = (
  { network, estimates, times }: Schedule,
  { distribution, runs, seed, target_days }: ScheduleInput,
  { simulations, signal, key }: PlanningContext,
): Promise<SimulationResult> => {
  const limits = [times.durationDays, ...(target_days === undefined ? [] : [target_days])]
  return simulations.run(
    { network, estimates, distribution, runs, seed, limits },
    { keyId: key?.id, signal },
  )
}

const viewSchedule = (
  schedule: Schedule,
  input: ScheduleInput,
  result: SimulationResult | undefined,
): ScheduleView => {
  const { times, path, calendar } = schedule
  return {
    duration_days: round(times.durationDays),
    start_date: calendar?.date(0) ?? null,
    finish_date: calendar?.finishDate(times.durationDays) ?? null,
    critical_path: path.map(at => idOf(input.tasks, at)),
    tasks: input.tasks.map((task, at) => viewTask(schedule, task, at, result)),
    pert: viewPert(schedule, input),
    simulation: result === undefined ? null : viewSimulation(schedule, input, result),
  }
}

const viewTask = (
  { times, calendar, estimates }: Schedule,
  { id, name = id, duration_days }: TaskInput,
  at: number,
  result: SimulationResult | undefined,
): z.input<typeof TaskView> => {
  const start = times.earlyStart[at] as number
  const late = times.lateStart[at] as number
  const float = times.totalFloat[at] as number
  const estimate = estimates[at] as ThreePoint
  const finishDate = calendar?.finishDate(start + duration_days) ?? null
  const isMilestone = duration_days === 0
  return {
    id,
    name,
    is_milestone: isMilestone,
    is_critical: float === 0,
    duration_days,
    early_start_days: round(start),
    early_finish_days: round(start + duration_days),
    late_start_days: round(late),
    late_finish_days: round(late + duration_days),
    total_float_days: round(float),
    free_float_days: round(times.freeFloat[at] as number),
    // a milestone is at the end of the day before it
    start_date: isMilestone ? finishDate : (calendar?.startDate(start) ?? null),
    finish_date: finishDate,
    expected_days: round(computeExpectedDays(estimate)),
    standard_deviation_days: round(deviationDays(estimate)),
    criticality_percent:
      result === undefined ? null : round(100 * (result.criticality[at] as number)),
  }
}

const viewPert = (
  { pert, calendar }: Schedule,
  { tasks, target_days }: ScheduleInput,
): z.input<typeof Pert> | null => {
  if (pert === undefined) return null
  const { meanDays, deviationDays: deviation, path } = pert
  return {
    mean_days: round(meanDays),
    standard_deviation_days: round(deviation),
    critical_path: path.map(at => idOf(tasks, at)),
    finish_date: calendar?.finishDate(meanDays) ?? null,
    target_probability_percent:
      target_days === undefined ? null : round(100 * normalCdf(target_days, meanDays, deviation)),
  }
}

const viewSimulation = (
  { calendar }: Schedule,
  { runs, seed, distribution }: ScheduleInput,
  result: SimulationResult,
): z.input<typeof Simulation> => {
  const [ofDuration = 0, ofTarget] = result.probabilities
  return {
    runs,
    seed,
    distribution,
    mean_days: round(result.meanDays),
    standard_deviation_days: round(result.deviationDays),
    min_days: round(result.leastDays),
    max_days: round(result.mostDays),
    percentiles: PERCENTILES.map((percent, at) => {
      const days = result.percentilesDays[at] as number
      return { percent, days: round(days), finish_date: calendar?.finishDate(days) ?? null }
    }),
    duration_probability_percent: round(100 * ofDuration),
    target_probability_percent: ofTarget === undefined ? null : round(100 * ofTarget),
  }
}

const idOf = (tasks: readonly TaskInput[], at: number): string => tasks[at]?.id ?? ''

/** Rounds away the noise of binary fractions: 0.1 + 0.2 is 0.3. */
const round = (value: number): number => Math.round(value * 1e6) / 1e6 + 0
