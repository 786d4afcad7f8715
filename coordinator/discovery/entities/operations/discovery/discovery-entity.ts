import * as z from 'zod'
import { createUnknownError } from '../../../../../shared/reference-errors.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { EntityViews } from '../../open-entities.ts'
import { EntityId, EntityView } from './entity-view.ts'

export default defineOperation({
  id: 'discovery-entity',
  description:
    'Show one entity with the source of each value; the id of a merged one finds it too.',
  method: 'GET',
  path: '/v1/discovery/entities/{entity_id}',
  access: 'operator',
  effect: 'read',
  tool: false,
  cli: { group: 'discover', verb: 'show' },
  input: z.strictObject({ entity_id: EntityId }),
  output: EntityView,
  run: async ({ entity_id }, { entityQuery }: EntityViews) => {
    const found = await entityQuery.find(entity_id)
    if (found === undefined) throw createUnknownError('entity', entity_id)
    return found
  },
})
