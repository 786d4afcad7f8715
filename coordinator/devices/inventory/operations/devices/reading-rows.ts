import * as z from 'zod'
import { iso } from '../../../../../shared/time.ts'
import { PropertyName, PropertyValue } from '../../../../../shared/wire/device.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import type { Device } from '../../device.table.ts'
import type { Reading } from '../../device-states.ts'
import type { DeviceViews } from '../../open.ts'

/** Newest reading of a property of the profile. */
export const ReadingView = z.object({
  property: PropertyName,
  /** Null while it is unknown. */
  value: PropertyValue,
  unit: z.string().nullable(),
  /** True when the reading is older than its property allows, or there is none. */
  stale: z.boolean(),
  age_ms: z.int().nonnegative().nullable(),
  at: z.iso.datetime().nullable(),
})

/** Readings of all properties of a device; none until its cell has announced the profile. */
export const listReadings = (
  device: Device,
  { devices, now }: Pick<Context, 'now'> & Pick<DeviceViews, 'devices'>,
): z.input<typeof ReadingView>[] => {
  const readings = devices.state(device)?.readings
  const properties = Object.entries(devices.profile(device)?.properties ?? {})
  return properties.map(([property, { unit = null }]) => ({
    property,
    unit,
    ...toView(readings?.get(property), now()),
  }))
}

const toView = (reading: Reading | undefined, now: number) => {
  if (reading === undefined) return { value: null, stale: true, age_ms: null, at: null }
  const { value, isStale, at } = reading
  return { value, stale: isStale, age_ms: Math.max(0, Math.round(now - at)), at: iso(at) }
}
