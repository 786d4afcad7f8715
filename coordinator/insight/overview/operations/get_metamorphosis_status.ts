import * as z from 'zod'
import { figure } from '../../../../shared/unknown-fields.ts'
import type { KeyViews } from '../../../access/keys/open.ts'
import type { QuotaViews } from '../../../access/quota/open.ts'
import type { FlowViews } from '../../../agents/flows/open.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { ControlViews } from '../../../fleet/control/open.ts'
import type { EnrolmentViews } from '../../../fleet/enrolment/open.ts'
import type { ModelViews } from '../../../fleet/models/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { CONNECT_CELL } from '../../../kernel/declaration/to-load.ts'
import type { RegisterViews } from '../../registers/open.ts'
import { DRIFT_CLASSES, DRIFT_KINDS, scanDrift } from '../../reports/drift.ts'
import { computePercent } from '../../reports/service-metrics.ts'
import { gatherDriftFacts } from '../drift-facts.ts'

const Class = z.enum(DRIFT_CLASSES)

export default defineSkill({
  id: 'get_metamorphosis_status',
  group: 'operations',
  name: 'Metamorphosis status',
  description:
    'Scan the drift of cells, models, settings, keys and flows against what is declared: LEGIT, CRUFT, PEARL or LIVE_SHIM, with evidence.',
  tags: ['operations', 'drift', 'governance'],
  access: 'operator',
  effect: 'read',
  publishesInput: false,
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    tenant_id: z.string().describe('Keys, requests, runs and records are those of this tenant.'),
    counts: z.record(Class, z.int()),
    legit_percent: figure(
      z.number().nullable(),
      'nothing is declared or observed that could be compared',
    ),
    items: z.array(
      z.object({
        kind: z.enum(DRIFT_KINDS),
        id: z.string(),
        class: Class,
        evidence: z.string(),
      }),
    ),
  }),
  toLoad: CONNECT_CELL,
  run: async (
    _input,
    context: Context &
      ControlViews &
      EnrolmentViews &
      FleetViews &
      FlowViews &
      KeyViews &
      ModelViews &
      QuotaViews &
      RegisterViews,
  ) => {
    const { facts, isExample } = await gatherDriftFacts(context)
    const items = scanDrift(facts)
    const counts = { LEGIT: 0, CRUFT: 0, PEARL: 0, LIVE_SHIM: 0 }
    for (const each of items) counts[each.class]++
    return {
      data_state: dataState(items.length, isExample),
      tenant_id: scopeOf(context).tenantId,
      counts,
      legit_percent: computePercent(counts.LEGIT, items.length),
      items,
    }
  },
})
