import * as z from 'zod'
import { defineOperation } from '../operation.ts'
import { SimilarDeviceRef } from './device-ref.ts'
import { resolveStopTarget } from './estop-target.ts'
import { EstopReason, EstopView, estopViewOf } from './estop-view.ts'

export default defineOperation({
  id: 'devices-estop',
  description:
    'Engage an e-stop at once for one device, a cell, a site or all; a person must release it.',
  method: 'POST',
  path: '/v1/estop',
  access: 'operator',
  effect: 'write',
  isEmergency: true,
  input: z.strictObject({
    all: z.boolean().exactOptional().describe('Stop every device of the fleet.'),
    site: z.string().min(1).max(64).exactOptional().describe('Stop the devices of a site.'),
    cell: z
      .string()
      .min(1)
      .max(64)
      .exactOptional()
      .describe('Stop the devices of a cell, by id or name.'),
    device: SimilarDeviceRef.exactOptional(),
    reason: EstopReason.describe('Why, for the people who see the stop.'),
  }),
  examples: [{ all: true, reason: 'smoke in the hall' }],
  output: EstopView,
  run: async ({ reason, ...wanted }, context) => {
    const { estops, actor } = context
    return estopViewOf(
      await estops.engage(resolveStopTarget(wanted, context), reason, actor),
      context,
    )
  },
})
