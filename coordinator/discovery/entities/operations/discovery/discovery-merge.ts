import * as z from 'zod'
import { ShoalError } from '../../../../../shared/errors.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { EntityViews } from '../../open-entities.ts'
import { EntityId } from './entity-view.ts'
import { PinMade } from './pin-view.ts'

export default defineOperation({
  id: 'discovery-merge',
  description: 'Merge two entities; the decision overrides all evidence until it is withdrawn.',
  method: 'POST',
  path: '/v1/discovery/entities/{entity_id}/merge',
  access: 'operator',
  effect: 'write',
  tool: false,
  cli: { group: 'discover', verb: 'merge', words: ['other'] },
  input: z.strictObject({ entity_id: EntityId, other: EntityId }),
  examples: [{ other: 'ent_0c06ea628a9fa16aca5b82cb' }],
  output: PinMade,
  run: async ({ entity_id, other }, { entityAdmin, actor }: Context & EntityViews) => {
    if (other === entity_id)
      throw new ShoalError('invalid_request', 'name two entities', { param: 'other' })
    return { pin_id: await entityAdmin.merge(entity_id, other, actor.actor) }
  },
})
