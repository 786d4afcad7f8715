import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { EntityViews } from '../../open-entities.ts'
import { EntityId } from './entity-view.ts'
import { PinMade } from './pin-view.ts'

export default defineOperation({
  id: 'discovery-split',
  description: 'Split the sightings with some keys off an entity, until the split is withdrawn.',
  method: 'POST',
  path: '/v1/discovery/entities/{entity_id}/split',
  access: 'operator',
  effect: 'write',
  tool: false,
  cli: { group: 'discover', verb: 'split', words: ['keys'] },
  input: z.strictObject({
    entity_id: EntityId,
    keys: z
      .array(z.string().max(300))
      .min(1)
      .max(32)
      .describe('Keys of the part that becomes another entity: `mac=b8:27:eb:00:00:01`.'),
  }),
  examples: [{ keys: ['mac=b8:27:eb:00:00:01'] }],
  output: PinMade,
  run: async ({ entity_id, keys }, { entityAdmin, actor }: Context & EntityViews) => ({
    pin_id: await entityAdmin.split(entity_id, keys, actor.actor),
  }),
})
