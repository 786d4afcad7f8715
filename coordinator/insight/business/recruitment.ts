import { type candidates, STAGES } from '../registers/definitions/candidates.ts'
import type { RecordOf } from '../registers/register.ts'
import { percentOf, roundTo } from './money.ts'
import { daysBetween } from './months.ts'

type Candidate = RecordOf<typeof candidates>
type Stage = (typeof STAGES)[number]

const findEntryDay = (candidate: Candidate, stage: Stage): string | undefined =>
  candidate[`${stage}_on`]

/** Last stage that a candidate has reached. */
const stageOf = (candidate: Candidate): Stage =>
  STAGES.findLast(stage => findEntryDay(candidate, stage) !== undefined) ?? 'applied'

/** True when the candidate reached the stage, or a later one without it. */
const hasReached = (candidate: Candidate, stage: Stage): boolean =>
  STAGES.indexOf(stageOf(candidate)) >= STAGES.indexOf(stage)

/**
 * Conversion and duration of each stage, and of the whole pipeline, as of a day: what is dated after
 * it is planned and does not count.
 */
export const analyseRecruitment = (candidates: readonly Candidate[], today: string) => {
  const all = candidates
    .filter(({ applied_on }) => applied_on <= today)
    .map(candidate => omitPlanned(candidate, today))
  const hires = all.filter(({ hired_on }) => hired_on !== undefined)
  const isOpen = ({ hired_on, closed_on }: Candidate) =>
    hired_on === undefined && closed_on === undefined
  return {
    candidates: all.length,
    open: all.filter(isOpen).length,
    hired: hires.length,
    rejected: all.filter(({ closed_as }) => closed_as === 'rejected').length,
    withdrawn: all.filter(({ closed_as }) => closed_as === 'withdrawn').length,
    median_days_to_hire: medianOf(
      hires.map(({ applied_on, hired_on = applied_on }) => daysBetween(applied_on, hired_on)),
    ),
    stages: STAGES.map(stage => computeStageFigures(all, stage)),
    positions: [...Map.groupBy(all, ({ position }) => position)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([position, list]) => ({
        position,
        candidates: list.length,
        open: list.filter(isOpen).length,
        hired: list.filter(({ hired_on }) => hired_on !== undefined).length,
      })),
  }
}

/** The candidate without the days after today. */
const omitPlanned = (candidate: Candidate, today: string): Candidate => {
  const isPlanned = ([name, value]: [string, string]) => name.endsWith('_on') && value > today
  const known = Object.fromEntries(Object.entries(candidate).filter(each => !isPlanned(each)))
  const { closed_as, ...others } = known as Candidate
  return others.closed_on === undefined || closed_as === undefined
    ? others
    : { ...others, closed_as }
}

const computeStageFigures = (all: readonly Candidate[], stage: Stage) => {
  const next = STAGES[STAGES.indexOf(stage) + 1]
  const entered = all.filter(candidate => hasReached(candidate, stage))
  const advanced = next === undefined ? [] : entered.filter(each => hasReached(each, next))
  const here = entered.filter(candidate => stageOf(candidate) === stage)
  const closed = here.filter(({ closed_on }) => closed_on !== undefined)
  return {
    stage,
    entered: entered.length,
    advanced: advanced.length,
    closed: closed.length,
    open: stage === 'hired' ? 0 : here.length - closed.length,
    conversion_percent:
      next === undefined ? null : percentOf(advanced.length, advanced.length + closed.length),
    median_days: medianOf(entered.flatMap(candidate => countDays(candidate, stage))),
  }
}

/** Days from the entry into a stage until the candidate left it; empty while in the stage. */
const countDays = (candidate: Candidate, stage: Stage): number[] => {
  const from = findEntryDay(candidate, stage)
  const later = STAGES.slice(STAGES.indexOf(stage) + 1)
  const until =
    later.map(each => findEntryDay(candidate, each)).find(day => day !== undefined) ??
    candidate.closed_on
  return from === undefined || until === undefined ? [] : [daysBetween(from, until)]
}

const medianOf = (values: readonly number[]): number | null => {
  if (values.length === 0) return null
  const sorted = values.toSorted((a, b) => a - b)
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return roundTo(((low ?? 0) + (high ?? 0)) / 2, 1)
}
