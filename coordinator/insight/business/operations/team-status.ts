import * as z from 'zod'
import { figure } from '../../../../shared/unknown-fields.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { people } from '../../registers/definitions/people.ts'
import { projectTasks } from '../../registers/definitions/project-tasks.ts'
import type { RegisterViews } from '../../registers/open.ts'
import { dayAt } from '../months.ts'
import { analyseTeams } from '../team.ts'
import { RECORD_STATE, stateOf } from './record-state.ts'

const NO_TASKS = 'the register project-tasks has no records'

const Figures = {
  people: z.int().describe('People employed on the day, those on leave included.'),
  on_leave: z.int(),
  full_time_equivalents: figure(
    z.number().nullable().describe('Capacity without the people on leave.'),
    'the register people has no records',
  ),
  joined_90_days: z.int(),
  left_90_days: z.int(),
  open_tasks: figure(
    z.int().nullable().describe('Tasks of projects that are assigned to the people.'),
    NO_TASKS,
  ),
  blocked_tasks: figure(z.int().nullable(), NO_TASKS),
  overdue_tasks: figure(z.int().nullable(), NO_TASKS),
}

export default defineSkill({
  id: 'team-status',
  group: 'business',
  name: 'Team status',
  description: 'Count people, capacity, turnover and open tasks of each team.',
  tags: ['business', 'people'],
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'read',
  input: z.strictObject({}),
  examples: [{}],
  output: z.object({
    ...RECORD_STATE,
    ...Figures,
    turnover_12_months_percent: figure(
      z.number().nullable(),
      'the register people has nobody who was employed in the period',
      { named: 'empty' },
    ),
    teams: z.array(z.object({ team: z.string(), ...Figures })),
  }),
  run: async (_input, context: Context & RegisterViews) => {
    const scope = scopeOf(context)
    const today = dayAt(context.now())
    const staff = await context.registers.readAll(people, scope)
    const tasks = await context.registers.readAll(projectTasks, scope)
    return {
      ...stateOf({ people: staff, 'project-tasks': tasks }),
      as_of: today,
      ...analyseTeams(staff.records, tasks.records, today),
    }
  },
})
