import * as z from 'zod'
import type { GateViews } from '../../../access/gates/open.ts'
import { gatherFacts } from '../../../access/gates/operations/policy/governance-facts.ts'
import type { KeyViews } from '../../../access/keys/open.ts'
import type { PeopleViews } from '../../../access/people/open.ts'
import type { QuotaViews } from '../../../access/quota/open.ts'
import type { CallHourViews } from '../../../calls/invoke/open-call-hours.ts'
import type { MonitorViews } from '../../../fleet/alerts/open-monitor.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { ReplicaViews } from '../../../fleet/cells/replica-states.ts'
import type { EnrolmentViews } from '../../../fleet/enrolment/open.ts'
import type { ModelViews } from '../../../fleet/models/open.ts'
import type { AuditViews } from '../../../kernel/audit/open.ts'
import type { VitalViews } from '../../../kernel/base/vitals.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { QueueViews } from '../../../kernel/queue/open.ts'
import type { ListenerViews } from '../../../kernel/tls/open.ts'
import type { BackupViews } from '../../backup/open.ts'
import { gatherGapFacts } from '../../overview/gap-facts.ts'
import { observeSelf } from '../../overview/observe-self.ts'
import { gatherQualityFacts } from '../../overview/quality-facts.ts'
import type { ReportViews } from '../open.ts'
import { comparePeriods } from '../period.ts'
import { CHANNELS, judgeBlocks } from '../release.ts'
import { type ReleaseFacts, runReleaseChecks } from '../release-checks.ts'

const Counts = z.object({ ready: z.int(), not_ready: z.int(), unknown: z.int() })

export default defineSkill({
  id: 'get_release_readiness',
  group: 'operations',
  name: 'Release readiness',
  description:
    'Check the 55 building blocks of a release in 5 channels: executable checks, and records of the operator with evidence and owner.',
  tags: ['operations', 'release', 'governance'],
  access: 'operator',
  effect: 'read',
  publishesInput: false,
  timeoutSeconds: 300,
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    tenant_id: z.string(),
    ready: z.boolean().describe('Every building block is ready.'),
    counts: Counts,
    channels: z.array(z.object({ channel: z.enum(CHANNELS), blocks: z.int(), counts: Counts })),
    blocks: z.array(
      z.object({
        id: z.string(),
        channel: z.enum(CHANNELS),
        title: z.string(),
        kind: z.enum(['check', 'record']),
        state: z.enum(['ready', 'not_ready', 'unknown']),
        evidence: z.string(),
        owner: z.string().nullable(),
      }),
    ),
  }),
  run: async (
    _input,
    context: Context &
      AuditViews &
      BackupViews &
      CallHourViews &
      EnrolmentViews &
      FleetViews &
      GateViews &
      KeyViews &
      ListenerViews &
      ModelViews &
      MonitorViews &
      PeopleViews &
      QueueViews &
      QuotaViews &
      ReplicaViews &
      ReportViews &
      VitalViews,
  ) => {
    const blocks = judgeBlocks(
      runReleaseChecks(await gatherReleaseFacts(context)),
      context.releaseRecords,
    )
    const counts = countStates(blocks)
    return {
      data_state: 'live' as const,
      tenant_id: scopeOf(context).tenantId,
      ready: counts.ready === blocks.length,
      counts,
      channels: CHANNELS.map(channel => {
        const own = blocks.filter(block => block.channel === channel)
        return { channel, blocks: own.length, counts: countStates(own) }
      }),
      blocks: blocks.map(({ owner = null, ...block }) => ({ ...block, owner })),
    }
  },
})

type Blocks = ReturnType<typeof judgeBlocks>

const countStates = (blocks: Blocks): z.input<typeof Counts> => {
  const counts = { ready: 0, not_ready: 0, unknown: 0 }
  for (const { state } of blocks) counts[state]++
  return counts
}

const gatherReleaseFacts = async (
  context: Context &
    AuditViews &
    BackupViews &
    CallHourViews &
    EnrolmentViews &
    FleetViews &
    GateViews &
    KeyViews &
    ListenerViews &
    ModelViews &
    MonitorViews &
    PeopleViews &
    QueueViews &
    QuotaViews &
    ReplicaViews &
    VitalViews,
): Promise<ReleaseFacts> => {
  const { current } = comparePeriods(context.now())
  const [observations, governance, gaps, quality] = await Promise.all([
    observeSelf(context),
    gatherFacts(context),
    gatherGapFacts(context),
    gatherQualityFacts(context, current),
  ])
  return { observations, governance, gaps, quality }
}
