import type { DeviceFacts, DeviceKind } from '../../../shared/wire/device.ts'
import type { DeviceSeat } from '../../../shared/wire/estop.ts'

/** A cell that announces a device. */
export interface DeviceClaim {
  cellId: string
  /** Unix milliseconds from which the cell has announced it without a long break. */
  since: number
  kind: DeviceKind
  facts: DeviceFacts
}

/** A device of the fleet, as all coordinators agree on it. Times are unix milliseconds. */
export interface Device {
  id: string
  /** Cell that it belongs to: the first that announced it, until that one is known to be away. */
  cellId: string
  /** Other cells that announce it. */
  alsoOn: string[]
  kind: DeviceKind
  facts: DeviceFacts
  /** True while its cell is connected and reaches it. */
  isAvailable: boolean
  /** Labels that operators have set. */
  labels: Readonly<Record<string, string>>
  firstSeenAt: number
  /** Time of the last change of what is announced. */
  changedAt: number
  /** Time at which the last cell stopped announcing it; undefined before. */
  goneAt: number | undefined
}

/** Reason why a device is not available; null while it is. */
export const reasonOf = ({ isAvailable, facts, cellId }: Device): string | null => {
  if (isAvailable || !facts.available) return facts.reason
  return `${cellId} is not connected`
}

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
