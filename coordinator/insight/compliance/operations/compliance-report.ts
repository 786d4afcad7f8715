import * as z from 'zod'
import { reportHtml, reportText } from '../../../access/gates/compliance/print.ts'
import type { GateViews } from '../../../access/gates/open.ts'
import type { KeyViews } from '../../../access/keys/open.ts'
import type { PeopleViews } from '../../../access/people/open.ts'
import type { EnrolmentViews } from '../../../fleet/enrolment/open.ts'
import type { AuditViews } from '../../../kernel/audit/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { ListenerViews } from '../../../kernel/tls/open.ts'
import { FrameworkChoice, FrameworkView, reportsFor } from './framework-report.ts'

export default defineOperation({
  id: 'compliance-report',
  description:
    'Report the evidence and the open points for each control of a framework. The report gives no verdict.',
  method: 'GET',
  path: '/portal/api/compliance/report',
  access: 'operator',
  effect: 'read',
  tool: false,
  timeoutSeconds: 300,
  input: z.strictObject({
    framework: FrameworkChoice.default('all'),
    as: z
      .enum(['json', 'text', 'html'])
      .default('json')
      .describe('Format of the report: JSON for programs, text to read, HTML to print.'),
  }),
  output: z.object({
    generated_at: z.iso.datetime(),
    frameworks: z.array(FrameworkView),
    /** Content type of the rendered report; null unless `as` is text or html. */
    content_type: z.string().nullable(),
    text: z.string().nullable(),
  }),
  text: { body: 'text', type: 'content_type', types: ['text/html', 'text/plain'] },
  run: async (
    { framework, as },
    context: Context &
      AuditViews &
      EnrolmentViews &
      GateViews &
      KeyViews &
      ListenerViews &
      PeopleViews,
  ) => {
    const generated_at = new Date(context.now()).toISOString()
    const frameworks = await reportsFor(framework, context)
    const base = { generated_at, frameworks }
    if (as === 'json') return { ...base, content_type: null, text: null }
    const print = as === 'html' ? reportHtml : reportText
    const content_type = `text/${as === 'html' ? 'html' : 'plain'}; charset=utf-8`
    return { ...base, content_type, text: print(frameworks, generated_at) }
  },
})
