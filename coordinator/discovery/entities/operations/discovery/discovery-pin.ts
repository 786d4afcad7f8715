import * as z from 'zod'
import { ShoalError } from '../../../../../shared/errors.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { EntityViews } from '../../open-entities.ts'
import { EntityId } from './entity-view.ts'
import { PinMade } from './pin-view.ts'

const Value = z.string().min(1).max(256).nullable().exactOptional()

export default defineOperation({
  id: 'discovery-pin',
  description: 'Set values of an entity that override every source; null removes the override.',
  method: 'PUT',
  path: '/v1/discovery/entities/{entity_id}/values',
  access: 'operator',
  effect: 'write',
  tool: false,
  cli: { group: 'discover', verb: 'pin' },
  input: z.strictObject({
    entity_id: EntityId,
    name: Value,
    vendor: Value,
    model: Value,
    location: Value,
    description: Value,
  }),
  examples: [{ name: 'printer in the hall' }],
  output: PinMade,
  run: async ({ entity_id, ...values }, { entityAdmin, actor }: Context & EntityViews) => {
    if (Object.keys(values).length === 0)
      throw new ShoalError('invalid_request', 'name at least one value, such as name', {
        param: 'name',
      })
    return { pin_id: await entityAdmin.setValues(entity_id, values, actor.actor) }
  },
})
