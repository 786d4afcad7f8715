import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { EntityViews } from '../../open-entities.ts'
import { EntityId } from './entity-view.ts'

export default defineOperation({
  id: 'discovery-forget',
  description:
    'Erase everything that is known of an entity, with its history and its mentions elsewhere.',
  method: 'DELETE',
  path: '/v1/discovery/entities/{entity_id}',
  access: 'operator',
  effect: 'write',
  tool: false,
  cli: { group: 'discover', verb: 'forget' },
  input: z.strictObject({ entity_id: EntityId }),
  output: z.object({ entity_id: z.string() }),
  run: async ({ entity_id }, { entityAdmin, actor }: Context & EntityViews) => {
    await entityAdmin.erase(entity_id, actor)
    return { entity_id }
  },
})
