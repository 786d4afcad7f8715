import * as z from 'zod'
import { runChecks } from '../../../access/gates/checks.ts'
import { FRAMEWORK_IDS, type FrameworkId } from '../../../access/gates/compliance/frameworks.ts'
import {
  CONTROL_STATES,
  complianceReport,
  type FrameworkReport,
} from '../../../access/gates/compliance/report.ts'
import type { GateViews } from '../../../access/gates/open.ts'
import { gatherFacts } from '../../../access/gates/operations/policy/governance-facts.ts'
import type { KeyViews } from '../../../access/keys/open.ts'
import type { PeopleViews } from '../../../access/people/open.ts'
import type { EnrolmentViews } from '../../../fleet/enrolment/open.ts'
import type { AuditViews } from '../../../kernel/audit/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import type { ListenerViews } from '../../../kernel/tls/open.ts'

export const FrameworkChoice = z.enum([...FRAMEWORK_IDS, 'all'])

const Counts = z.object({
  evidence_found: z.int(),
  partly: z.int(),
  missing: z.int(),
  not_applicable: z.int(),
})

export const FrameworkView = z.object({
  framework: z.enum(FRAMEWORK_IDS),
  title: z.string(),
  source: z.string(),
  dates: z.array(z.object({ date: z.iso.date(), what: z.string(), status: z.string() })),
  counts: Counts,
  controls: z.array(
    z.object({
      id: z.string(),
      title: z.string(),
      state: z.enum(CONTROL_STATES),
      evidence: z.array(z.string()),
      open: z.array(z.string()),
    }),
  ),
})

/** Reports of one framework or of all, from the current state. */
export const reportsFor = async (
  choice: FrameworkId | 'all',
  context: Context &
    AuditViews &
    EnrolmentViews &
    GateViews &
    KeyViews &
    ListenerViews &
    PeopleViews,
): Promise<FrameworkReport[]> => {
  const checks = runChecks(await gatherFacts(context))
  const wanted = choice === 'all' ? FRAMEWORK_IDS : [choice]
  return wanted.map(id => complianceReport(id, checks, context.declarations))
}
