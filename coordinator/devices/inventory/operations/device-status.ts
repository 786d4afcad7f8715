import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { CONNECT_DEVICE } from '../../../kernel/declaration/to-load.ts'
import type { EstopViews } from '../../estop/open.ts'
import type { DeviceViews } from '../open.ts'
import { ReadDeviceRef } from './devices/device-ref.ts'
import { DeviceStatus, deviceStatusOf } from './devices/device-view.ts'

/** Devices of one answer; `devices-list` has pages. */
const MOST = 200

export default defineSkill({
  id: 'device-status',
  group: 'devices',
  name: 'Device status',
  description:
    'Show the state of a device with the age of each reading, and the commands it accepts; without a device, of all.',
  tags: ['devices', 'telemetry'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({ device_id: ReadDeviceRef.exactOptional() }),
  examples: [{}],
  output: z.object({
    data_state: DataState,
    /** Devices by name; the first 200 where more match. */
    devices: z.array(DeviceStatus),
    /** Devices that match, also those that are not shown. */
    total: z.int(),
  }),
  toLoad: CONNECT_DEVICE,
  run: ({ device_id }, context: Context & DeviceViews & EstopViews) => {
    const { devices } = context
    const found = device_id === undefined ? devices.list() : [devices.findToRead(device_id)]
    return {
      data_state: dataState(found.length),
      devices: found.slice(0, MOST).map(device => deviceStatusOf(device, context)),
      total: found.length,
    }
  },
})
