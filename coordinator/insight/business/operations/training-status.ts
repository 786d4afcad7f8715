import * as z from 'zod'
import { figure } from '../../../../shared/unknown-fields.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { trainings } from '../../registers/definitions/trainings.ts'
import type { RegisterViews } from '../../registers/open.ts'
import { dayAt } from '../months.ts'
import { analyseTrainings } from '../training.ts'
import { RECORD_STATE, stateOf } from './record-state.ts'

const Figures = {
  assigned: z.int(),
  valid: z.int().describe('Completed, and still valid on the day.'),
  open: z.int(),
  overdue: z.int(),
  expired: z.int(),
  expiring_30_days: z.int(),
  completion_percent: figure(
    z.number().nullable().describe('Valid ones of those assigned.'),
    'nobody is assigned to such a course',
    { named: 'empty' },
  ),
}

export default defineSkill({
  id: 'training-status',
  group: 'business',
  name: 'Training status',
  description: 'Show which courses are completed, overdue or expired, and for whom.',
  tags: ['business', 'people'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  examples: [{}],
  output: z.object({
    ...RECORD_STATE,
    ...Figures,
    mandatory: z.object(Figures).describe('Mandatory courses alone.'),
    courses: z.array(z.object({ course: z.string(), is_mandatory: z.boolean(), ...Figures })),
    late: z
      .array(
        z.object({
          person_id: z.string(),
          course: z.string(),
          state: z.enum(['overdue', 'expired']),
          since: z.iso.date().nullable(),
        }),
      )
      .describe('At most 100 overdue or expired assignments.'),
  }),
  run: async (_input, context: Context & RegisterViews) => {
    const today = dayAt(context.now())
    const found = await context.registers.readAll(trainings, scopeOf(context))
    return {
      ...stateOf({ trainings: found }),
      as_of: today,
      ...analyseTrainings(found.records, today),
    }
  },
})
