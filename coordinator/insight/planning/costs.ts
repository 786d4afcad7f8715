import type { Schedule } from './schedule.ts'

export const COST_KINDS = ['labour', 'hardware', 'energy', 'cloud'] as const
type CostKind = (typeof COST_KINDS)[number]

/** One planned cost, without contingency. */
export interface CostLine {
  kind: CostKind
  eur: number
  /** Index of the task that causes it; undefined for a cost of the whole project. */
  task: number | undefined
  useCase: string | undefined
}

/** Sums in euros; `total` includes the contingency. */
export type CostTotals = Record<CostKind | 'contingency' | 'total', number>

/**
 * Sums of cost lines by kind.
 * @param contingency share of the costs that is added for known risks, from 0 to 1
 */
export const sumCosts = (lines: readonly CostLine[], contingency: number): CostTotals => {
  const sums = { labour: 0, hardware: 0, energy: 0, cloud: 0 }
  for (const { kind, eur } of lines) sums[kind] += eur
  const base = sums.labour + sums.hardware + sums.energy + sums.cloud
  return { ...sums, contingency: base * contingency, total: base * (1 + contingency) }
}

/** Starts of the tasks by which costs are placed in time. */
type Starts = 'earlyStart' | 'lateStart'

/**
 * Planned cost until a time, in euros and without contingency: hardware is paid at the start of its
 * task, all other costs accrue evenly while it lasts. Costs of the whole project accrue from its
 * start to its end.
 * @param days working days since the start of the project
 */
export const computePlannedCost = (
  lines: readonly CostLine[],
  { times, network }: Pick<Schedule, 'times' | 'network'>,
  starts: Starts,
  days: number,
): number =>
  lines.reduce((sum, { kind, eur, task }) => {
    const start = task === undefined ? 0 : (times[starts][task] as number)
    const length = task === undefined ? times.durationDays : (network.durations[task] as number)
    const span = kind === 'hardware' ? 0 : length
    return sum + eur * shareUntil(days, start, span)
  }, 0)

/** Share of a cost that lies before `days`, from 0 to 1. */
const shareUntil = (days: number, start: number, span: number): number => {
  if (days < start) return 0
  return span === 0 ? 1 : Math.min(1, (days - start) / span)
}

/**
 * Budget of the work done, in euros and without contingency: each task earns its costs by the share
 * of its work that is done. Costs of the whole project earn what was planned (level of effort).
 * @param done share of each task that is done, from 0 to 1, by the index of the task
 */
export const computeEarnedCost = (
  lines: readonly CostLine[],
  schedule: Pick<Schedule, 'times' | 'network'>,
  done: readonly number[],
  days: number,
): number => {
  const ofTasks = lines.reduce(
    (sum, { eur, task }) => sum + (task === undefined ? 0 : eur * (done[task] ?? 0)),
    0,
  )
  const ofProject = lines.filter(({ task }) => task === undefined)
  return ofTasks + computePlannedCost(ofProject, schedule, 'earlyStart', days)
}

const MAX_POINTS = 100

/** Times at which a curve of costs is shown: whole steps of days, and the end. */
export const listCurveDays = (durationDays: number): number[] => {
  const step = Math.max(1, Math.ceil(durationDays / MAX_POINTS))
  const whole = Array.from({ length: Math.ceil(durationDays / step) }, (_, at) => at * step)
  return [...whole, durationDays]
}
