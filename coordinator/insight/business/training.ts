import type { trainings } from '../registers/definitions/trainings.ts'
import type { RecordOf } from '../registers/register.ts'
import { percentOf } from './money.ts'
import { daysBetween } from './months.ts'

type Training = RecordOf<typeof trainings>
type State = 'valid' | 'expired' | 'overdue' | 'open'

const EXPIRING_DAYS = 30

/** State of an assignment on a day; the last day of a deadline or of validity still counts. */
const stateOf = ({ completed_on, valid_until, due_on }: Training, today: string): State => {
  if (completed_on !== undefined && completed_on <= today)
    return valid_until !== undefined && valid_until < today ? 'expired' : 'valid'
  return due_on !== undefined && due_on < today ? 'overdue' : 'open'
}

/** Completion of each course on a day, and the overdue or expired assignments. */
export const analyseTrainings = (all: readonly Training[], today: string) => {
  const courses = Map.groupBy(all, ({ course }) => course)
  const late = all.flatMap(training => {
    const state = stateOf(training, today)
    return state === 'overdue' || state === 'expired' ? [{ training, state }] : []
  })
  return {
    ...computeCourseFigures(all, today),
    mandatory: computeCourseFigures(
      all.filter(({ is_mandatory }) => is_mandatory),
      today,
    ),
    courses: [...courses]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([course, list]) => ({
        course,
        is_mandatory: list.some(({ is_mandatory }) => is_mandatory),
        ...computeCourseFigures(list, today),
      })),
    late: late
      .map(({ training, state }) => ({
        person_id: training.person_id,
        course: training.course,
        state,
        since: (state === 'expired' ? training.valid_until : training.due_on) ?? null,
      }))
      .slice(0, 100),
  }
}

const computeCourseFigures = (list: readonly Training[], today: string) => {
  const states = list.map(training => stateOf(training, today))
  const count = (state: State): number => states.filter(each => each === state).length
  const expiring = list.filter(
    (training, i) =>
      states[i] === 'valid' &&
      training.valid_until !== undefined &&
      daysBetween(today, training.valid_until) <= EXPIRING_DAYS,
  )
  return {
    assigned: list.length,
    valid: count('valid'),
    open: count('open'),
    overdue: count('overdue'),
    expired: count('expired'),
    expiring_30_days: expiring.length,
    completion_percent: percentOf(count('valid'), list.length),
  }
}
