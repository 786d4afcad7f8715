import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Lines `prefix name`, sorted by prefix; what stands before the first one is a comment. */
const FILE = join(import.meta.dirname, 'oui.txt')
const PREFIX_DIGITS = [9, 7, 6]

let vendors: ReadonlyMap<string, string> | undefined

/**
 * Organisation to which IEEE assigned the start of a MAC address; undefined when the table lacks it.
 * The table is read at its first use.
 */
export const vendorOfMac = (mac: string): string | undefined => {
  vendors ??= readVendors()
  const digits = mac.replaceAll(':', '')
  for (const length of PREFIX_DIGITS) {
    const vendor = vendors.get(digits.slice(0, length))
    if (vendor !== undefined) return vendor
  }
  return undefined
}

const readVendors = (): ReadonlyMap<string, string> =>
  new Map(
    readFileSync(FILE, 'utf8')
      .split('\n')
      .filter(line => /^[0-9a-f]{6,9} /.test(line))
      .map(line => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]),
  )
