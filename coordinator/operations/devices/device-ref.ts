import * as z from 'zod'

/** A device in an input: its id, its name, or a beginning of either that no other device has. */
export const DeviceRef = z
  .string()
  .min(1)
  .max(128)
  .describe('Id or name of a device, or a unique beginning of either.')

/** Cursor of a list of devices: the sort key of the last row, opaque to callers. */
export const DeviceCursor = z.string().max(1024).describe('Cursor: `next` of the previous page.')
