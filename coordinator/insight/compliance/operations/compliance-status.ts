import * as z from 'zod'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { FrameworkView, reportsFor } from './framework-report.ts'

export default defineSkill({
  id: 'compliance-status',
  group: 'governance',
  name: 'Compliance status',
  description: 'Count the controls of each framework that have evidence, and those that have none.',
  tags: ['governance', 'compliance'],
  access: 'operator',
  effect: 'read',
  timeoutSeconds: 300,
  input: z.strictObject({}),
  output: z.object({
    generated_at: z.iso.datetime(),
    frameworks: z.array(
      FrameworkView.pick({ framework: true, title: true, counts: true }).extend({
        /** Ids of the controls without any evidence. */
        missing: z.array(z.string()),
      }),
    ),
  }),
  run: async (_input, context) => ({
    generated_at: new Date(context.now()).toISOString(),
    frameworks: (await reportsFor('all', context)).map(
      ({ framework, title, counts, controls }) => ({
        framework,
        title,
        counts,
        missing: controls.filter(({ state }) => state === 'missing').map(({ id }) => id),
      }),
    ),
  }),
})
