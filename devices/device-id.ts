import { hash } from 'node:crypto'

/** Hexadecimal digits of the hash: 80 bits. */
const DIGITS = 20

/**
 * Stable id of a device from its identity: a serial number or address that is the same from every
 * cell (`bambu:SERIAL`), or the cell and the configured name (`cell_…:rover-1`).
 */
export const createDeviceId = (identity: string): string =>
  `dev_${hash('sha256', identity).slice(0, DIGITS)}`

const CREATED = new RegExp(`^dev_[0-9a-f]{${DIGITS}}$`)

/** True for an id of `createDeviceId`: that of a device with a profile. */
export const isCreatedDeviceId = (deviceId: string): boolean => CREATED.test(deviceId)
