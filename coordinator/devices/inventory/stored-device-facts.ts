import * as z from 'zod'
import type { DeviceFacts } from '../../../shared/wire/device.ts'

const AnyFacts = z.looseObject({
  device_id: z.string(),
  name: z.string(),
  profile: z.string(),
  site: z.string().nullable(),
  available: z.boolean(),
  reason: z.string().nullable(),
  writable: z.boolean(),
  envelope: z.looseObject({}),
})

/**
 * Facts of a device as a coordinator of any version has stored them. It checked what the cell
 * announced; what a later version has added stays in the row when this one writes it.
 */
export const StoredDeviceFacts = z.custom<DeviceFacts>(
  value => AnyFacts.safeParse(value).success,
  'expected facts of a device',
)
