import type { SightingKey } from '../sighting.ts'

/** Keys of MAC addresses in the form `aa:bb:cc:dd:ee:ff`; group and empty addresses give none. */
export const listMacKeys = (macs: readonly string[]): SightingKey[] =>
  [...new Set(macs)]
    .filter(isHostMac)
    .map(value => ({ kind: isLocalMac(value) ? 'private_mac' : 'mac', value }))

/** True for the address of one interface: neither empty nor of a group (IEEE 802, bit 0x01). */
export const isHostMac = (mac: string): boolean =>
  mac !== '00:00:00:00:00:00' && (firstOctet(mac) & 1) === 0

/** True when software chose the address, so that it may change (IEEE 802, bit 0x02). */
const isLocalMac = (mac: string): boolean => (firstOctet(mac) & 2) !== 0

const firstOctet = (mac: string): number => Number.parseInt(mac.slice(0, 2), 16)
