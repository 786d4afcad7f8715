import type { people } from '../registers/definitions/people.ts'
import type { projectTasks } from '../registers/definitions/project-tasks.ts'
import type { RecordOf } from '../registers/register.ts'
import { percentOf, roundTo } from './money.ts'
import { addDays, daysBetween } from './months.ts'

type Employee = RecordOf<typeof people>
type ProjectTask = RecordOf<typeof projectTasks>

const isEmployed = ({ state, started_on, ended_on }: Employee, day: string): boolean =>
  started_on <= day && (ended_on === undefined ? state !== 'left' : ended_on > day)

const DAYS_OF_YEAR = 365
const RECENT_DAYS = 90

/** Headcount, capacity and work of each team on a day. */
export const analyseTeams = (
  all: readonly Employee[],
  tasks: readonly ProjectTask[],
  today: string,
) => {
  const teams = Map.groupBy(all, ({ team }) => team)
  return {
    ...computeTeamFigures(all, tasks, today),
    turnover_12_months_percent: turnoverOf(all, today),
    teams: [...teams]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([team, members]) => ({ team, ...computeTeamFigures(members, tasks, today) })),
  }
}

const computeTeamFigures = (
  members: readonly Employee[],
  tasks: readonly ProjectTask[],
  today: string,
) => {
  const employed = members.filter(member => isEmployed(member, today))
  const working = employed.filter(({ state }) => state !== 'leave')
  const ids = new Set(employed.map(({ id }) => id))
  const open = tasks.filter(
    ({ state, assignee_id }) => state !== 'done' && ids.has(assignee_id ?? ''),
  )
  const isRecent = (day: string | undefined): boolean =>
    day !== undefined && day <= today && daysBetween(day, today) < RECENT_DAYS
  return {
    people: employed.length,
    on_leave: employed.length - working.length,
    full_time_equivalents:
      members.length === 0
        ? null
        : roundTo(
            working.reduce((sum, { full_time_equivalent }) => sum + full_time_equivalent, 0),
            2,
          ),
    joined_90_days: members.filter(({ started_on }) => isRecent(started_on)).length,
    left_90_days: members.filter(({ ended_on }) => isRecent(ended_on)).length,
    ...countTasks(tasks.length === 0 ? undefined : open, today),
  }
}

/** Open tasks by state; null for all where the register has no tasks. */
const countTasks = (open: readonly ProjectTask[] | undefined, today: string) => {
  const count = (isMeant: (task: ProjectTask) => boolean) => open?.filter(isMeant).length ?? null
  return {
    open_tasks: count(() => true),
    blocked_tasks: count(({ state }) => state === 'blocked'),
    overdue_tasks: count(({ due_on }) => due_on !== undefined && due_on < today),
  }
}

/** People who left in the last 365 days, in percent of the mean of first and last headcount. */
const turnoverOf = (all: readonly Employee[], today: string): number | null => {
  const yearAgo = addDays(today, -DAYS_OF_YEAR)
  const before = all.filter(member => isEmployed(member, yearAgo)).length
  const now = all.filter(member => isEmployed(member, today)).length
  const left = all.filter(
    ({ ended_on }) => ended_on !== undefined && ended_on > yearAgo && ended_on <= today,
  ).length
  return percentOf(left, (before + now) / 2)
}
