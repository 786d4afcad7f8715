import * as z from 'zod'

const Reference = z.string().min(1).max(128)

/** A device that is to be changed: its id or whole name. */
export const DeviceRef = Reference.describe(
  'Id or whole name of a device, or at least `dev_` and eight characters of its id.',
)

/** A device that is to be read: a beginning of its name is enough. */
export const ReadDeviceRef = Reference.describe(
  'Id or name of a device, or a unique beginning of either.',
)

/** Devices that are to be brought to rest: all that have the name. */
export const EveryDeviceRef = Reference.describe(
  'Id or whole name of a device; every device with the name is meant.',
)

/** Cursor of a list of devices: the sort key of the last row, opaque to callers. */
export const DeviceCursor = z.string().max(1024).describe('Cursor: `next` of the previous page.')
