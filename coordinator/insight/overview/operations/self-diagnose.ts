import * as z from 'zod'
import { DIAGNOSIS_RESULTS, diagnose, worstResult } from '../../../fleet/alerts/diagnosis.ts'
import type { MonitorViews } from '../../../fleet/alerts/open-monitor.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { ReplicaViews } from '../../../fleet/cells/replica-states.ts'
import type { EnrolmentViews } from '../../../fleet/enrolment/open.ts'
import type { ModelViews } from '../../../fleet/models/open.ts'
import type { VitalViews } from '../../../kernel/base/vitals.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { observeSelf } from '../observe-self.ts'

const Result = z.enum(DIAGNOSIS_RESULTS)

export default defineSkill({
  id: 'self-diagnose',
  group: 'fleet',
  name: 'Self-diagnosis',
  description: 'Diagnose the coordinator and its fleet, and recommend a remedy for each problem.',
  tags: ['fleet', 'operations', 'health'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    result: Result.describe('Worst result of all checks.'),
    checks: z.array(
      z.object({
        id: z.string(),
        title: z.string(),
        result: Result,
        observed: z.string(),
        remedy: z.string().nullable(),
      }),
    ),
  }),
  run: async (
    _input,
    context: EnrolmentViews & FleetViews & ModelViews & MonitorViews & ReplicaViews & VitalViews,
  ) => {
    const checks = diagnose(await observeSelf(context))
    return {
      result: worstResult(checks.map(({ result }) => result)),
      checks: checks.map(check => ({ ...check, remedy: check.remedy ?? null })),
    }
  },
})
