import * as z from 'zod'
import { DataState, dataState } from '../../../../kernel/declaration/data-state.ts'
import { NextCursor, pageLimit } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { EntityViews } from '../../open-entities.ts'
import { ENTITY_FILTER, EntityView } from './entity-view.ts'

export default defineOperation({
  id: 'discovery-entities',
  description: 'List the entities that discovery found, the newest sighting first.',
  method: 'GET',
  path: '/a2a/discovery/registry',
  access: 'operator',
  effect: 'read',
  tool: false,
  cli: { group: 'discover', verb: 'list' },
  input: z.strictObject({
    ...ENTITY_FILTER,
    text: z
      .string()
      .max(256)
      .exactOptional()
      .describe(
        'Beginnings of words in its names, addresses, maker, model or type: `kitchen prin`.',
      ),
    present: z.boolean().exactOptional().describe('True for entities that are there now.'),
    after: z
      .string()
      .max(100)
      .regex(/^\d{1,15}:\w+$/)
      .exactOptional()
      .describe('Cursor: `next` of the previous page.'),
    limit: pageLimit(),
  }),
  output: z.object({ data_state: DataState, entities: z.array(EntityView), next: NextCursor }),
  run: async ({ present, ...filter }, { entityQuery }: EntityViews) => {
    const { entities, next } = await entityQuery.page({ ...filter, is_present: present })
    return { data_state: dataState(entities.length), entities, next }
  },
})
