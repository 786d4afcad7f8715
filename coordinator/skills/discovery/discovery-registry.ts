import * as z from 'zod'
import { DataState, dataState } from '../../operations/data-state.ts'
import { ENTITY_FILTER, EntityView } from '../../operations/discovery/entity-view.ts'
import { pageLimit } from '../../operations/fields.ts'
import { defineSkill } from '../skill.ts'

export default defineSkill({
  id: 'discovery-registry',
  name: 'Discovery registry',
  description:
    'List the entities that discovery found, with their type, risk and the source of each value.',
  tags: ['discovery', 'inventory'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({ ...ENTITY_FILTER, limit: pageLimit() }),
  examples: [{ risk_level: 'high', limit: 20 }],
  output: z.object({ data_state: DataState, entities: z.array(EntityView) }),
  run: async (filter, { registry }) => {
    const { entities } = await registry.page(filter)
    return { data_state: dataState(entities.length), entities }
  },
})
