import * as z from 'zod'
import { WEEKDAYS } from '../calendar.ts'
import { LINK_TYPES, type PlannedTask } from '../network.ts'
import { DISTRIBUTIONS } from '../three-point.ts'

const MAX_TASKS = 2000
const MAX_LINKS = 10_000
const MAX_RUNS = 100_000
/** Bounds the time of a simulation to a few seconds. */
const MAX_WORK = 200_000_000

const Days = z.number().min(0).max(10_000)
export const TaskId = z.string().min(1).max(64)
export const Label = z.string().min(1).max(100)

const Dependency = z.union([
  z.strictObject({
    id: TaskId,
    type: z
      .enum(LINK_TYPES)
      .default('FS')
      .describe('Ends that are linked, predecessor first: F finish, S start.'),
    lag_days: z
      .number()
      .min(-10_000)
      .max(10_000)
      .default(0)
      .describe('Working days between the two ends; negative for a lead.'),
  }),
  TaskId,
])

const Task = z.strictObject({
  id: TaskId,
  name: z.string().min(1).max(200).exactOptional().describe('Label in the chart.'),
  duration_days: Days.describe('Working days, the most likely value; 0 for a milestone.'),
  depends_on: z
    .array(Dependency)
    .max(200)
    .default([])
    .describe('Predecessors; an id alone is finish to start without a lag.'),
  optimistic_days: Days.exactOptional(),
  pessimistic_days: Days.exactOptional(),
  complete_percent: z.number().min(0).max(100).exactOptional().describe('Share of the work done.'),
  use_case: Label.exactOptional().describe('Use case that the costs of the task belong to.'),
})
export type TaskInput = z.output<typeof Task>

/** The three values of a task ascend, and two of them come together. */
const requireRanges = (tasks: readonly TaskInput[], context: z.RefinementCtx): void => {
  tasks.forEach((task, at) => {
    const fault = rangeFault(task)
    if (fault !== undefined)
      context.addIssue({ code: 'custom', path: [at, fault.field], message: fault.message })
  })
}

const rangeFault = ({ duration_days, optimistic_days, pessimistic_days }: TaskInput) => {
  if (optimistic_days === undefined && pessimistic_days === undefined) return undefined
  if (pessimistic_days === undefined)
    return { field: 'pessimistic_days', message: 'belongs to optimistic_days' }
  if (optimistic_days === undefined)
    return { field: 'optimistic_days', message: 'belongs to pessimistic_days' }
  if (optimistic_days > duration_days)
    return { field: 'optimistic_days', message: 'must be at most duration_days' }
  if (pessimistic_days < duration_days)
    return { field: 'pessimistic_days', message: 'must be at least duration_days' }
  return undefined
}

const countLinks = (tasks: readonly TaskInput[]): number =>
  tasks.reduce((count, { depends_on }) => count + depends_on.length, 0)

export const SCHEDULE_FIELDS = {
  tasks: z
    .array(Task)
    .min(1)
    .max(MAX_TASKS)
    .refine(tasks => countLinks(tasks) <= MAX_LINKS, {
      error: `must have at most ${MAX_LINKS} dependencies`,
    })
    .superRefine(requireRanges),
  runs: z
    .int()
    .min(0)
    .max(MAX_RUNS)
    .default(10_000)
    .describe('Runs of the simulation; 0 leaves it out.'),
  seed: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .default(1)
    .describe('Seed of the simulation; equal inputs with equal seeds have equal results.'),
  distribution: z
    .enum(DISTRIBUTIONS)
    .default('beta')
    .describe('Shape of durations in the simulation between their three values.'),
  target_days: z
    .number()
    .min(0)
    .max(1e8)
    .exactOptional()
    .describe('Duration in working days whose probability is wanted.'),
  start_date: z.iso
    .date()
    .exactOptional()
    .describe('First day of the project; without it the answer has no dates.'),
  working_days: z
    .array(z.enum(WEEKDAYS))
    .min(1)
    .max(7)
    .default(['mon', 'tue', 'wed', 'thu', 'fri']),
  holidays: z.array(z.iso.date()).max(2000).default([]).describe('Dates without work.'),
}

const ScheduleSettings = z.object(SCHEDULE_FIELDS)
export type ScheduleInput = z.output<typeof ScheduleSettings>

/** Refuses a simulation that takes too long. */
export const requireBoundedWork = (
  { tasks, runs }: Pick<ScheduleInput, 'tasks' | 'runs'>,
  context: z.RefinementCtx,
): void => {
  const most = Math.floor(MAX_WORK / (tasks.length + countLinks(tasks)))
  if (runs <= most) return
  const message = `must be at most ${most} with so many tasks and dependencies`
  context.addIssue({ code: 'custom', path: ['runs'], message })
}

/** Tasks in the words of the domain. */
export const toPlannedTasks = (tasks: readonly TaskInput[]): PlannedTask[] =>
  tasks.map(task => ({
    id: task.id,
    durationDays: task.duration_days,
    optimisticDays: task.optimistic_days,
    pessimisticDays: task.pessimistic_days,
    dependsOn: task.depends_on.map(each =>
      typeof each === 'string'
        ? { id: each, type: 'FS', lagDays: 0 }
        : { id: each.id, type: each.type, lagDays: each.lag_days },
    ),
  }))
