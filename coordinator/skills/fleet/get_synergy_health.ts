import * as z from 'zod'
import { RUN_STATES } from '../../flows/run.ts'
import type { RunCount } from '../../flows/run-store.ts'
import { DataState, dataState } from '../../operations/data-state.ts'
import { scopeOf } from '../../operations/tenant-scope.ts'
import { defineSkill } from '../skill.ts'

const Health = z.object({
  executed: z.int().describe('Runs that carried out all their steps.'),
  total: z.int().describe('Runs that were started.'),
  health_percent: z.number().nullable().describe('Executed over total; null before the first run.'),
})

export default defineSkill({
  id: 'get_synergy_health',
  name: 'Synergy health',
  description: 'Report for each synergy how many of its runs were executed, in percent.',
  tags: ['flows', 'synergies', 'health'],
  access: 'operator',
  effect: 'read',
  publishesInput: false,
  input: z.strictObject({}),
  output: Health.extend({
    data_state: DataState.describe('`empty`: no synergy was started; see synergy-trigger.'),
    configured: z.int(),
    synergies: z.array(
      Health.extend({
        synergy_id: z.string(),
        configured: z.boolean().describe('False for one that has left the configuration.'),
        by_state: z.partialRecord(z.enum(RUN_STATES), z.int()),
      }),
    ),
  }),
  run: async (_input, context) => {
    const { flows } = context
    const counts = (await flows.count(scopeOf(context).tenantId)).filter(
      ({ synergyId }) => synergyId !== null,
    )
    const configured = Object.keys(flows.synergies)
    const ids = new Set([...configured, ...counts.map(({ synergyId }) => synergyId ?? '')])
    return {
      data_state: dataState(counts.length),
      configured: configured.length,
      ...healthOf(counts),
      synergies: [...ids].sort().map(id => {
        const own = counts.filter(({ synergyId }) => synergyId === id)
        return {
          synergy_id: id,
          configured: configured.includes(id),
          ...healthOf(own),
          by_state: Object.fromEntries(
            [...Map.groupBy(own, ({ state }) => state)].map(([state, of]) => [state, add(of)]),
          ),
        }
      }),
    }
  },
})

const add = (counts: readonly RunCount[]): number => counts.reduce((sum, { runs }) => sum + runs, 0)

const healthOf = (counts: readonly RunCount[]): z.input<typeof Health> => {
  const total = add(counts)
  const executed = add(counts.filter(({ state }) => state === 'done'))
  return { executed, total, health_percent: total === 0 ? null : (100 * executed) / total }
}
