import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { pageLimit } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { EstopViews } from '../../estop/open.ts'
import type { DeviceViews } from '../../inventory/open.ts'
import { DeviceSummary, deviceSummaryOf } from '../../inventory/operations/devices/device-view.ts'

export default defineOperation({
  id: 'mqtt-devices',
  description: 'List the devices that cells reach over MQTT, such as Zigbee2MQTT or Tasmota ones.',
  method: 'GET',
  path: '/v1/mqtt/devices',
  access: 'operator',
  effect: 'read',
  onCell: true,
  input: z.strictObject({ limit: pageLimit() }),
  output: z.object({
    data_state: DataState,
    /** Devices by name. */
    devices: z.array(DeviceSummary),
    /** Devices that match, also those beyond the limit. */
    total: z.int(),
  }),
  run: ({ limit }, context: Context & DeviceViews & EstopViews) => {
    const { devices, cellId } = context
    const found = devices
      .list()
      .filter(device => devices.profile(device)?.link === 'mqtt')
      .filter(device => cellId === undefined || device.cellId === cellId)
    return {
      data_state: dataState(found.length),
      devices: found.slice(0, limit).map(device => deviceSummaryOf(device, context)),
      total: found.length,
    }
  },
})
