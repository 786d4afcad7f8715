import * as z from 'zod'
import type { FlowViews } from '../../../agents/flows/open.ts'
import { RUN_STATES } from '../../../agents/flows/run.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { SynergyHealth, sumRuns, synergyHealthOf } from '../platform-overview.ts'

export default defineSkill({
  id: 'get_synergy_health',
  group: 'fleet',
  name: 'Synergy health',
  description: 'Report for each synergy how many of its runs were executed, in percent.',
  tags: ['flows', 'synergies', 'health'],
  access: 'operator',
  effect: 'read',
  publishesInput: false,
  input: z.strictObject({}),
  output: SynergyHealth.extend({
    data_state: DataState,
    to_load: z.string().nullable().describe('What to do when no synergy was started; else null.'),
    configured: z.int(),
    synergies: z.array(
      SynergyHealth.extend({
        synergy_id: z.string(),
        configured: z.boolean().describe('False for one that has left the configuration.'),
        by_state: z.partialRecord(z.enum(RUN_STATES), z.int()),
      }),
    ),
  }),
  run: async (_input, context: Context & FlowViews) => {
    const { flows } = context
    const counts = (await flows.count(scopeOf(context).tenantId)).filter(
      ({ synergyId }) => synergyId !== null,
    )
    const configured = Object.keys(flows.synergies)
    const ids = new Set([...configured, ...counts.map(({ synergyId }) => synergyId ?? '')])
    return {
      data_state: dataState(counts.length),
      to_load: counts.length === 0 ? toLoad(configured) : null,
      configured: configured.length,
      ...synergyHealthOf(counts),
      synergies: [...ids].sort().map(id => {
        const own = counts.filter(({ synergyId }) => synergyId === id)
        return {
          synergy_id: id,
          configured: configured.includes(id),
          ...synergyHealthOf(own),
          by_state: Object.fromEntries(
            [...Map.groupBy(own, ({ state }) => state)].map(([state, of]) => [state, sumRuns(of)]),
          ),
        }
      }),
    }
  },
})

const toLoad = ([first]: readonly string[]): string =>
  first === undefined
    ? '`synergies` in the configuration of the coordinator; docs/flows.md has an example'
    : `a run: shoal skills run synergy-trigger --synergy-id ${first} --no-dry-run`
