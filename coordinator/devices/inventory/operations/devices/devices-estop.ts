import * as z from 'zod'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import type { EnrolmentViews } from '../../../../fleet/enrolment/open.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { EstopViews } from '../../../estop/open.ts'
import type { DeviceViews } from '../../open.ts'
import { EveryDeviceRef } from './device-ref.ts'
import { findStopTargets } from './estop-target.ts'
import { EstopReason, EstopView, estopViewOf } from './estop-view.ts'

/** Length of the longest name that a cell may announce. */
const MAX_NAME = 253

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
    target: z
      .string()
      .min(1)
      .max(MAX_NAME)
      .exactOptional()
      .describe('Stop every device, cell and site of this name or id.'),
    all: z.boolean().exactOptional().describe('Stop every device of the fleet.'),
    site: z.string().min(1).max(64).exactOptional().describe('Stop the devices of a site.'),
    cell: z
      .string()
      .min(1)
      .max(MAX_NAME)
      .exactOptional()
      .describe('Stop the devices of a cell, by id or name; of all cells with this name.'),
    device: EveryDeviceRef.exactOptional(),
    reason: EstopReason.describe('Why, for the people who see the stop.'),
  }),
  examples: [{ all: true, reason: 'smoke in the hall' }],
  answers: { kind: 'estop' },
  output: EstopView.extend({
    also: z
      .array(EstopView)
      .describe(
        'Further stops of this call, one for each other device, cell or site of this name.',
      ),
    is_confirmed: z
      .boolean()
      .describe('True once every cell has confirmed every stop of this call.'),
  }),
  success: { field: 'is_confirmed', codes: { true: 0, false: 69 } },
  run: async (
    { reason, ...wanted },
    context: Context & DeviceViews & EnrolmentViews & EstopViews & FleetViews,
  ) => {
    const { estops, actor } = context
    const reaching: ReturnType<typeof estops.engage>[] = []
    for await (const target of findStopTargets(wanted, context)) {
      const reach = estops.engage(target, reason, actor)
      // it may fail while further targets are looked up, and is awaited with them
      reach.catch(() => {})
      reaching.push(reach)
    }
    const reached = await Promise.all(reaching)
    const [first, ...also] = reached.map(one => estopViewOf(one, context))
    const is_confirmed = reached.every(({ missing }) => missing.length === 0)
    return { ...(first as NonNullable<typeof first>), also, is_confirmed }
  },
})
