import * as z from 'zod'
import type { GateViews } from '../../../access/gates/open.ts'
import type { KeyViews } from '../../../access/keys/open.ts'
import type { PeopleViews } from '../../../access/people/open.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { EnrolmentViews } from '../../../fleet/enrolment/open.ts'
import type { ModelViews } from '../../../fleet/models/open.ts'
import type { AuditViews } from '../../../kernel/audit/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { ListenerViews } from '../../../kernel/tls/open.ts'
import type { BackupViews } from '../../backup/open.ts'
import { findGaps, GAP_AREAS } from '../../reports/gaps.ts'
import { gatherGapFacts } from '../gap-facts.ts'

const Area = z.enum(GAP_AREAS)

export default defineSkill({
  id: 'gap-report',
  group: 'operations',
  name: 'Gap report',
  description:
    'List what is declared but missing: models without a cell, missing cells, gates without eligible approvers, missing evidence, backups.',
  tags: ['operations', 'governance', 'report'],
  access: 'operator',
  effect: 'read',
  timeoutSeconds: 300,
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    tenant_id: z.string(),
    declared: z.record(Area, z.int()).describe('Number of declared things by area.'),
    counts: z.record(Area, z.int()).describe('Number of gaps by area.'),
    gaps: z.array(
      z.object({
        area: Area,
        id: z.string(),
        declared: z.string(),
        found: z.string(),
        remedy: z.string(),
      }),
    ),
  }),
  toLoad: '`models` in the configuration of the coordinator; docs/cells.md',
  run: async (
    _input,
    context: Context &
      AuditViews &
      BackupViews &
      EnrolmentViews &
      FleetViews &
      GateViews &
      KeyViews &
      ListenerViews &
      ModelViews &
      PeopleViews,
  ) => {
    const { declared, gaps } = findGaps(await gatherGapFacts(context))
    const counts = { models: 0, cells: 0, roles: 0, evidence: 0, backups: 0 }
    for (const { area } of gaps) counts[area]++
    return {
      data_state: dataState(Object.values(declared).reduce((all, count) => all + count, 0)),
      tenant_id: scopeOf(context).tenantId,
      declared,
      counts,
      gaps,
    }
  },
})
