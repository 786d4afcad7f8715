import * as z from 'zod'
import { ShoalError } from '../../../../../shared/errors.ts'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { Id } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { EstopViews } from '../../../estop/open.ts'
import type { DeviceViews } from '../../open.ts'
import { ESTOP_SUCCESS, EstopReason, EstopView, estopViewOf } from './estop-view.ts'

export default defineOperation({
  id: 'devices-estop-release',
  description: 'Release one e-stop; only a person can, and newer stops of the same devices stay.',
  method: 'POST',
  path: '/v1/estop/release',
  access: 'operator',
  effect: 'write',
  tool: false,
  cli: { group: 'devices', verb: 'release' },
  input: z.strictObject({
    estop_id: Id.describe('The e-stop to release.'),
    reason: EstopReason.describe('Why it is safe to release it.'),
  }),
  answers: { kind: 'estop' },
  output: EstopView,
  success: ESTOP_SUCCESS,
  run: async ({ estop_id, reason }, context: Context & DeviceViews & EstopViews & FleetViews) => {
    const { estops, key, actor } = context
    if (key?.kind !== 'person')
      throw new ShoalError(
        'forbidden',
        `an e-stop is released by a person; this key is one of kind ${key?.kind}`,
      )
    return estopViewOf(await estops.release(estop_id, reason, actor), context)
  },
})
