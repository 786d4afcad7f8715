import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { EstopViews } from '../../../estop/open.ts'
import type { DeviceViews } from '../../open.ts'
import { ReadDeviceRef } from './device-ref.ts'
import { DeviceDetails, deviceDetailsOf } from './device-view.ts'

export default defineOperation({
  id: 'devices-show',
  description: 'Show one device: state, limits, properties and commands with their parameters.',
  method: 'GET',
  path: '/v1/devices/{device_id}',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({ device_id: ReadDeviceRef }),
  output: DeviceDetails,
  run: ({ device_id }, context: Context & DeviceViews & EstopViews) =>
    deviceDetailsOf(context.devices.findToRead(device_id), context),
})
