import * as z from 'zod'
import type { GateViews } from '../../../access/gates/open.ts'
import type { KeyViews } from '../../../access/keys/open.ts'
import type { PeopleViews } from '../../../access/people/open.ts'
import type { EnrolmentViews } from '../../../fleet/enrolment/open.ts'
import type { AuditViews } from '../../../kernel/audit/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { ListenerViews } from '../../../kernel/tls/open.ts'
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
  run: async (
    _input,
    context: Context &
      AuditViews &
      EnrolmentViews &
      GateViews &
      KeyViews &
      ListenerViews &
      PeopleViews,
  ) => ({
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
