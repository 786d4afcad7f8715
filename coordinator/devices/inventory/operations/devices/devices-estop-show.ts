import * as z from 'zod'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import { pageLimit } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { nameDevice } from '../../../estop/names.ts'
import type { EstopViews } from '../../../estop/open.ts'
import type { DeviceViews } from '../../open.ts'
import { EstopView, estopViewOf, FailedDevice, HeldDevice, heldDeviceOf } from './estop-view.ts'

const MAX_FAILED = 200

export default defineOperation({
  id: 'devices-estop-show',
  description: 'List the e-stops in force, the cells that confirmed them, and devices not at rest.',
  method: 'GET',
  path: '/v1/estop',
  access: 'operator',
  effect: 'read',
  cli: { group: 'devices', verb: 'estops' },
  input: z.strictObject({ limit: pageLimit(50, 20) }),
  output: z.object({
    in_force: z.int().describe('Number of stops in force; the newest are listed.'),
    estops: z.array(EstopView),
    failed_devices: z
      .array(FailedDevice)
      .describe(`Devices that did not confirm that they are at rest; at most ${MAX_FAILED}.`),
    devices: z
      .array(HeldDevice)
      .describe(
        `Devices that are held, with what was asked and observed; at most ${MAX_FAILED}, of the ` +
          'cells that are connected to the coordinator that answers.',
      ),
  }),
  run: async ({ limit }, context: DeviceViews & EstopViews & FleetViews) => {
    const { estops, fleet } = context
    const { total, newest } = await estops.list(limit)
    return {
      in_force: total,
      estops: newest.map(one => estopViewOf(one, context)),
      failed_devices: estops
        .listFailed()
        .slice(0, MAX_FAILED)
        .map(({ cell_id, device_id, reason }) => {
          const name = findName(cell_id, device_id, fleet)
          return { cell_id, device_id, name, reason }
        }),
      devices: estops
        .listHeld()
        .slice(0, MAX_FAILED)
        .map(held => heldDeviceOf(held, findName(held.cell_id, held.device_id, fleet))),
    }
  },
})

const findName = (
  cellId: string,
  deviceId: string,
  fleet: Pick<FleetViews['fleet'], 'cell'>,
): string | null => {
  const cell = fleet.cell(cellId)
  return (cell && nameDevice(deviceId, cell)) ?? null
}
