import { NameTable } from './name-table.ts'

/** Assignments of IEEE: MA-S (9 hexadecimal digits), MA-M (7) and MA-L (6); the longest one decides. */
const PREFIX_DIGITS = [9, 7, 6]

const prefixes = new NameTable('oui.tsv')

/**
 * Organisation to which IEEE assigned the prefix of a MAC address (`b8:27:eb:00:00:01`, lower case);
 * undefined for unassigned, private and locally administered addresses.
 */
export const vendorOfMac = (mac: string): string | undefined => {
  const digits = mac.replaceAll(':', '')
  for (const length of PREFIX_DIGITS) {
    const vendor = prefixes.find(digits.slice(0, length))
    if (vendor !== undefined) return vendor
  }
  return undefined
}
