import { DeviceKind } from '../../../shared/wire/device.ts'
import type { DeviceSeat } from '../../../shared/wire/estop.ts'
import type { Device } from './device.table.ts'

/** Reason why a device is not available; null while it is. */
export const reasonOf = ({ isAvailable, facts, cellId }: Device): string | null => {
  if (isAvailable || !facts.available) return facts.reason
  return `${cellId} is not connected`
}

/** Kind of a device in answers; one that only a later version knows is `other`. */
export const kindOf = ({ kind }: Pick<Device, 'kind'>): DeviceKind =>
  DeviceKind.options.includes(kind) ? kind : 'other'

interface Named {
  name: string
  id: string
}

/** Order of devices in lists: by name, and by id where names are the same. */
export const compareByName = (a: Named, b: Named): number =>
  compareTexts(a.name, b.name) || compareTexts(a.id, b.id)

/** Compares by code units, so that the order is the same on every machine. */
const compareTexts = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)

/** Position of a device among cells and sites, which decides what e-stops hold it. */
export const seatOf = ({ id, cellId, facts }: Device): DeviceSeat => ({
  cellId,
  deviceId: id,
  site: facts.site,
})
