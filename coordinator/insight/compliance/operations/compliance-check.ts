import * as z from 'zod'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
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
  run: async ({ framework }, context) => ({
    generated_at: new Date(context.now()).toISOString(),
    frameworks: await reportsFor(framework, context),
  }),
})
