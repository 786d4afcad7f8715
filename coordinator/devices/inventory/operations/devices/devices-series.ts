import * as z from 'zod'
import { ShoalError } from '../../../../../shared/errors.ts'
import { iso } from '../../../../../shared/time.ts'
import { PropertyName } from '../../../../../shared/wire/device.ts'
import { DataState, dataState } from '../../../../kernel/declaration/data-state.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { Device } from '../../device.table.ts'
import { DEVICE_RESOLUTIONS } from '../../device-series.ts'
import type { DeviceViews } from '../../open.ts'
import { ReadDeviceRef } from './device-ref.ts'

export default defineOperation({
  id: 'devices-series',
  description: 'Show one numeric property of a device over the last day or year.',
  method: 'GET',
  path: '/v1/devices/{device_id}/series',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    device_id: ReadDeviceRef,
    property: PropertyName.default('battery_percent').describe(
      'A numeric property of its profile, such as `battery_percent`.',
    ),
    resolution: z
      .enum(['1m', '1h'])
      .default('1m')
      .describe('Resolution of the points: 1m is kept for a day, 1h for a year.'),
  }),
  output: z.object({
    device_id: z.string(),
    property: z.string(),
    unit: z.string().nullable(),
    resolution_seconds: z.int(),
    data_state: DataState,
    /** Oldest first; spans in which the reading was unknown or stale are left out. */
    points: z.array(
      z.object({
        at: z.iso.datetime(),
        value: z.number().describe('Mean of the samples.'),
        samples: z.int(),
      }),
    ),
  }),
  run: async ({ device_id, property, resolution }, context: DeviceViews) => {
    const { devices, deviceSeries } = context
    const device = devices.findToRead(device_id)
    const unit = findUnit(device, property, context)
    const points = await deviceSeries.points(device.id, property, resolution)
    return {
      device_id: device.id,
      property,
      unit,
      resolution_seconds: DEVICE_RESOLUTIONS[resolution].seconds,
      data_state: dataState(points.length),
      points: points.map(point => ({ ...point, at: iso(point.at) })),
    }
  },
})

/** Unit of a number; null while the profile is unknown. Throws `invalid_request` for others. */
const findUnit = (
  device: Device,
  property: string,
  { devices }: Pick<DeviceViews, 'devices'>,
): string | null => {
  const profile = devices.profile(device)
  if (profile === undefined) return null
  const facts = profile.properties[property]
  if (facts?.type === 'number') return facts.unit ?? null
  const numbers = Object.entries(profile.properties).filter(([, { type }]) => type === 'number')
  const known = numbers.map(([name]) => name).join(', ') || 'none'
  throw new ShoalError(
    'invalid_request',
    `${device.facts.name} has no numeric property ${property}; it has ${known}`,
    { param: 'property' },
  )
}
