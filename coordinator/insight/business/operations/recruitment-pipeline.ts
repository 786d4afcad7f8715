import * as z from 'zod'
import { figure } from '../../../../shared/unknown-fields.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { candidates, STAGES } from '../../registers/definitions/candidates.ts'
import type { RegisterViews } from '../../registers/open.ts'
import { dayAt } from '../months.ts'
import { analyseRecruitment } from '../recruitment.ts'
import { RECORD_STATE, stateOf } from './record-state.ts'

export default defineSkill({
  id: 'recruitment-pipeline',
  group: 'business',
  name: 'Recruitment pipeline',
  description:
    'Compute how many candidates each stage has, passes on and loses, and how long it takes. Days in the future do not count.',
  tags: ['business', 'people'],
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'read',
  input: z.strictObject({}),
  examples: [{}],
  output: z.object({
    ...RECORD_STATE,
    candidates: z.int(),
    open: z.int(),
    hired: z.int(),
    rejected: z.int(),
    withdrawn: z.int(),
    median_days_to_hire: figure(z.number().nullable(), 'no candidate was hired', {
      named: 'empty',
    }),
    stages: z.array(
      z.object({
        stage: z.enum(STAGES),
        entered: z.int().describe('Candidates who reached this stage or a later one.'),
        advanced: z.int(),
        closed: z.int().describe('Candidates who were rejected or withdrew in this stage.'),
        open: z.int(),
        conversion_percent: figure(
          z
            .number()
            .nullable()
            .describe('Those who advanced, of those who advanced or were closed here.'),
          'no candidate has left this stage',
          { named: 'empty' },
        ),
        median_days: figure(
          z.number().nullable().describe('Days in the stage, for those who left it.'),
          'no candidate has left this stage',
          { named: 'empty' },
        ),
      }),
    ),
    positions: z.array(
      z.object({ position: z.string(), candidates: z.int(), open: z.int(), hired: z.int() }),
    ),
  }),
  run: async (_input, context: Context & RegisterViews) => {
    const found = await context.registers.readAll(candidates, scopeOf(context))
    const as_of = dayAt(context.now())
    return {
      ...stateOf({ candidates: found }),
      as_of,
      ...analyseRecruitment(found.records, as_of),
    }
  },
})
