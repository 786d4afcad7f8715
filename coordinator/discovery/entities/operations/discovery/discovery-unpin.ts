import * as z from 'zod'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { EntityViews } from '../../open-entities.ts'
import { PinId, PinMade } from './pin-view.ts'

export default defineOperation({
  id: 'discovery-unpin',
  description: 'Take back a merge, a split or values that an operator has set.',
  method: 'DELETE',
  path: '/v1/discovery/pins/{pin_id}',
  access: 'operator',
  effect: 'write',
  tool: false,
  cli: { group: 'discover', verb: 'unpin' },
  input: z.strictObject({ pin_id: PinId }),
  output: PinMade,
  run: async ({ pin_id }, { entityAdmin }: EntityViews) => {
    await entityAdmin.unpin(pin_id)
    return { pin_id }
  },
})
