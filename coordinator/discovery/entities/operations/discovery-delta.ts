import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { RUN_DISCOVERY } from '../../../kernel/declaration/to-load.ts'
import type { EntityViews } from '../open-entities.ts'
import { DeltaView, deltaViewOf } from './discovery/entity-view.ts'

/** Deltas of one answer; `discovery-changes` has pages. */
const MOST = 500

export default defineSkill({
  id: 'discovery-delta',
  group: 'discovery',
  name: 'Discovery delta',
  description:
    'Show what appeared, disappeared or changed around the cells in the last hours, oldest first.',
  tags: ['discovery', 'changes'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    hours: z.int().min(1).max(2160).default(24).describe('Length of the period before now.'),
  }),
  examples: [{ hours: 1 }],
  output: z.object({
    data_state: DataState,
    counts: z.record(z.string(), z.int()).describe('All deltas of the period, by kind.'),
    deltas: z.array(DeltaView).describe('The first 500.'),
  }),
  toLoad: RUN_DISCOVERY,
  run: async ({ hours }, { entityQuery, now }: Context & EntityViews) => {
    const since = now() - hours * 3_600_000
    const deltas = await entityQuery.deltas({ since, limit: MOST })
    return {
      data_state: dataState(deltas.length),
      counts: await entityQuery.countDeltas(since),
      deltas: deltas.map(deltaViewOf),
    }
  },
})
