import * as z from 'zod'

const Reference = z.string().min(1).max(128)

/** A device that is to be changed: its id or whole name. */
export const DeviceRef = Reference.describe(
  'Id or whole name of a device, or at least `dev_` and eight characters of its id.',
)

/** A device that is to be read or stopped: a beginning of its name is enough. */
export const SimilarDeviceRef = Reference.describe(
  'Id or name of a device, or a unique beginning of either.',
)

/** Cursor of a list of devices: the sort key of the last row, opaque to callers. */
export const DeviceCursor = z.string().max(1024).describe('Cursor: `next` of the previous page.')
