import * as z from 'zod'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { RUN_DISCOVERY } from '../../../kernel/declaration/to-load.ts'
import type { EntityViews } from '../open-entities.ts'
import { ENTITY_FILTER, EntityView } from './discovery/entity-view.ts'

const PRESET = 50
const Limit = z
  .int()
  .min(1)
  .max(200)
  .exactOptional()
  .describe('Maximum number of entities; 50 by default.')

export default defineSkill({
  id: 'discovery-registry',
  group: 'discovery',
  name: 'Discovery registry',
  description:
    'List the entities that discovery found, with their type, risk and the source of each value.',
  tags: ['discovery', 'inventory'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({ ...ENTITY_FILTER, limit: Limit }),
  examples: [{ risk_level: 'high', limit: 20 }],
  output: z.object({ data_state: DataState, entities: z.array(EntityView) }),
  toLoad: RUN_DISCOVERY,
  run: async ({ limit = PRESET, ...filter }, { entityQuery }: EntityViews) => {
    const { entities } = await entityQuery.page({ ...filter, limit })
    return { data_state: dataState(entities.length), entities }
  },
})
