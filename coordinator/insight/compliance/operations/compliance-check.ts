import * as z from 'zod'
import type { GateViews } from '../../../access/gates/open.ts'
import type { KeyViews } from '../../../access/keys/open.ts'
import type { PeopleViews } from '../../../access/people/open.ts'
import type { EnrolmentViews } from '../../../fleet/enrolment/open.ts'
import type { AuditViews } from '../../../kernel/audit/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { ListenerViews } from '../../../kernel/tls/open.ts'
import { FrameworkChoice, FrameworkView, reportsFor } from './framework-report.ts'

export default defineSkill({
  id: 'compliance-check',
  group: 'governance',
  name: 'Compliance check',
  description:
    'List the evidence and the open points for each control of ISO/IEC 42001, the EU AI Act or the GDPR.',
  tags: ['governance', 'compliance'],
  access: 'operator',
  effect: 'read',
  timeoutSeconds: 300,
  input: z.strictObject({
    framework: FrameworkChoice.default('all'),
  }),
  output: z.object({ generated_at: z.iso.datetime(), frameworks: z.array(FrameworkView) }),
  examples: [{ framework: 'eu-ai-act' }],
  run: async (
    { framework },
    context: Context &
      AuditViews &
      EnrolmentViews &
      GateViews &
      KeyViews &
      ListenerViews &
      PeopleViews,
  ) => ({
    generated_at: new Date(context.now()).toISOString(),
    frameworks: await reportsFor(framework, context),
  }),
})
