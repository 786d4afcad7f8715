import { hash } from 'node:crypto'

/** Hexadecimal digits of the hash: 80 bits. */
const DIGITS = 20

/**
 * Stable id of a device from its identity: a serial number or address that is the same from every
 * cell (`bambu:SERIAL`), or the cell and the configured name (`cell_…:rover-1`).
 */
export const createDeviceId = (identity: string): string =>
  `dev_${hash('sha256', identity).slice(0, DIGITS)}`

/** Identities that links make of their cell and of the configured name. */
const OWN_IDENTITIES = ['', 'http:', 'mqtt:']

/**
 * True for the id that a cell makes of itself and a name: no other cell can have that device. False
 * for one of hardware, which every cell that reaches it announces.
 */
export const isIdOfCell = (deviceId: string, cellId: string, name: string): boolean =>
  OWN_IDENTITIES.some(kind => createDeviceId(`${cellId}:${kind}${name}`) === deviceId)
