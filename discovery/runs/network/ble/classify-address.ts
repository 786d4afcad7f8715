export type BleAddressKind = 'public' | 'static' | 'resolvable' | 'non_resolvable' | 'unknown'

/**
 * Kind of an address: the two top bits tell random ones apart (Bluetooth Core Specification, volume
 * 6, part B, 1.3.2). A public address is one of IEEE 802 that a vendor has assigned, so one of a
 * group or of software is none, whatever its sender says.
 */
export const classifyAddress = (address: string, isRandom: boolean): BleAddressKind => {
  const first = Number.parseInt(address.slice(0, 2), 16)
  if (!/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(address) || address === EMPTY) return 'unknown'
  if (isRandom) return RANDOM[first >> 6] ?? 'unknown'
  return (first & 3) === 0 ? 'public' : 'unknown'
}

const EMPTY = '00:00:00:00:00:00'
const RANDOM: readonly BleAddressKind[] = ['non_resolvable', 'resolvable', 'unknown', 'static']
