import * as z from 'zod'
import { iso } from '../../../../shared/time.ts'
import type { GateViews } from '../../../access/gates/open.ts'
import type { QuotaViews } from '../../../access/quota/open.ts'
import type { FlowViews } from '../../../agents/flows/open.ts'
import { DIAGNOSIS_RESULTS, worstResult } from '../../../fleet/alerts/diagnosis.ts'
import type { MonitorViews } from '../../../fleet/alerts/open-monitor.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { ReplicaViews } from '../../../fleet/cells/replica-states.ts'
import type { EnrolmentViews } from '../../../fleet/enrolment/open.ts'
import type { ModelViews } from '../../../fleet/models/open.ts'
import type { VitalViews } from '../../../kernel/base/vitals.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { CONNECT_CELL } from '../../../kernel/declaration/to-load.ts'
import type { QueueViews } from '../../../kernel/queue/open.ts'
import type { BackupViews } from '../../backup/open.ts'
import { BACKUP_STATES } from '../../reports/backup-standing.ts'
import type { ServiceViews } from '../../services/open.ts'
import { AlertOverview, GateOverview, readDay } from '../day-overview.ts'
import { FleetOverview, QueueOverview } from '../fleet-overview.ts'
import { PeriodView, ServiceView, serviceViewOf, viewPeriod } from '../service-view.ts'

export default defineSkill({
  id: 'ops-daily-status',
  group: 'operations',
  name: 'Daily status of operations',
  description:
    'Summarize 24 hours of operations and list what needs an operator, critical things first.',
  tags: ['operations', 'report'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    generated_at: z.iso.datetime(),
    tenant_id: z.string(),
    period: PeriodView,
    result: z.enum(DIAGNOSIS_RESULTS).describe('Worst of the self-diagnosis and `attention`.'),
    attention: z.array(
      z.object({
        severity: z.enum(['critical', 'warn']),
        what: z.string(),
        next: z.string().describe('Command that shows more, or remedy.'),
      }),
    ),
    fleet: FleetOverview,
    usage: ServiceView.describe("Requests of the caller's tenant."),
    queue: QueueOverview,
    gates: GateOverview,
    alerts: AlertOverview,
    backup: z.object({
      state: z.enum(BACKUP_STATES),
      newest_at: z.iso.datetime().nullable(),
    }),
  }),
  toLoad: CONNECT_CELL,
  run: async (
    _input,
    context: Context &
      BackupViews &
      EnrolmentViews &
      FleetViews &
      FlowViews &
      GateViews &
      ModelViews &
      MonitorViews &
      QueueViews &
      QuotaViews &
      ReplicaViews &
      ServiceViews &
      VitalViews,
  ) => {
    const day = await readDay(context)
    const { fleet, queue, gates, alerts, backups, period } = day
    const newest = backups.newest?.manifest
    return {
      data_state: dataState(
        fleet.cells + alerts.raised_today + gates.pending + (day.sums === undefined ? 0 : 1),
      ),
      generated_at: iso(context.now()),
      tenant_id: scopeOf(context).tenantId,
      period: viewPeriod(period),
      result: worstResult([
        ...day.checks.map(({ result }) => result),
        ...day.attention.map(({ severity }) => (severity === 'critical' ? 'fail' : 'warn')),
      ]),
      attention: day.attention,
      fleet,
      usage: serviceViewOf(day.sums),
      queue,
      gates,
      alerts,
      backup: {
        state: backups.state,
        newest_at: newest === undefined ? null : iso(newest.created_at),
      },
    }
  },
})
