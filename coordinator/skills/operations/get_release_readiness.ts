import * as z from 'zod'
import type { Context } from '../../operations/context.ts'
import { DataState } from '../../operations/data-state.ts'
import { gatherGapFacts } from '../../operations/gap-facts.ts'
import { observeSelf } from '../../operations/observe-self.ts'
import { gatherFacts } from '../../operations/policy/governance-facts.ts'
import { gatherQualityFacts } from '../../operations/quality-facts.ts'
import { scopeOf } from '../../operations/tenant-scope.ts'
import { comparePeriods } from '../../reports/period.ts'
import { CHANNELS, judgeBlocks } from '../../reports/release.ts'
import { type ReleaseFacts, runReleaseChecks } from '../../reports/release-checks.ts'
import { defineSkill } from '../skill.ts'

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
  run: async (_input, context) => {
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

const gatherReleaseFacts = async (context: Context): Promise<ReleaseFacts> => {
  const { current } = comparePeriods(context.now())
  const [observations, governance, gaps, quality] = await Promise.all([
    observeSelf(context),
    gatherFacts(context),
    gatherGapFacts(context),
    gatherQualityFacts(context, current),
  ])
  return { observations, governance, gaps, quality }
}
