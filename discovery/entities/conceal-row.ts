import ipaddr from 'ipaddr.js'
import type { SightingKey } from '../sighting.ts'
import { formatMac } from './normalise-key.ts'
import type { Pseudonyms } from './pseudonyms.ts'
import { isPrivateMac, rejectMac } from './rejected-keys.ts'

type Row = Readonly<Record<string, unknown>>
type Hashes = Pick<Pseudonyms, 'hashMac' | 'hashInterfaceId'>

/** Modules that list what the operator runs, by the word of its own engines and clouds. */
const OWN_INVENTORY: ReadonlySet<string> = new Set([
  'docker-inventory',
  'k8s-discover',
  'cloud-discover',
])

/** Puts pseudonyms in place of personal MAC addresses in what cells report, before it is stored. */
export const concealRow = <R extends object>(module: string, row: R, hashes: Hashes): R => {
  if (OWN_INVENTORY.has(module)) return row
  const { own, personal } = listDeclared(module, row as Row)
  const isPersonal = (mac: string): boolean =>
    personal.has(mac) || (isPersonalMac(mac) && !own.has(mac))
  return replaceTexts(row, text => concealText(text, hashes, isPersonal)) as R
}

/** Puts pseudonyms in place of personal MAC addresses in a text, such as a warning. */
export const concealText = (
  text: string,
  hashes: Hashes,
  isPersonal: (mac: string) => boolean = isPersonalMac,
): string => {
  const replace = (found: string): string => {
    const mac = formatMac(found)
    return mac !== undefined && isPersonal(mac) ? hashes.hashMac(mac) : found
  }
  const hideAddress = (found: string): string => concealIpv6(found, hashes, isPersonal)
  return text
    .replaceAll(IPV6, hideAddress)
    .replaceAll(OCTETS, replace)
    .replaceAll(DOTTED, replace)
    .replaceAll(PLAIN, found => (/[a-f]/i.test(found) ? replace(found) : found))
}

/**
 * A key of a personal device as a pseudonym; every Bluetooth address is one. A machine may report its
 * own address in clear: as a key it is a pseudonym too, so that it matches what others see of it.
 */
export const concealKey = ({ kind, value }: SightingKey, hashes: Hashes): SightingKey => {
  if (kind !== 'mac' && kind !== 'private_mac' && kind !== 'ble_public_address')
    return { kind, value }
  const mac = formatMac(value)
  if (mac === undefined) return { kind, value }
  if (kind === 'ble_public_address') return { kind, value: hashes.hashMac(mac) }
  return isPersonalMac(mac) ? { kind: 'private_mac', value: hashes.hashMac(mac) } : { kind, value }
}

// each address stands alone: longer rows of octets are fingerprints and EUI-64 identifiers
const OCTETS =
  /(?<![0-9a-z])(?<![0-9a-f]{2}[:-])[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}(?!\1[0-9a-f]{2})(?![0-9a-z])/gi
const DOTTED = /(?<![0-9a-z.])(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}(?![0-9a-z.])/gi
// twelve digits without a letter are more often a number of something else
const PLAIN = /(?<![0-9a-z]|hmac:)[0-9a-f]{12}(?![0-9a-z])/gi
const IPV6 = /(?<![0-9a-z:])[0-9a-f:]*:[0-9a-f]{0,2}ff:fe[0-9a-f]{2}:[0-9a-f]{1,4}(?![0-9a-z:])/gi

/** An address whose interface identifier is made from a MAC address (RFC 4291, appendix A). */
const concealIpv6 = (
  text: string,
  hashes: Hashes,
  isPersonal: (mac: string) => boolean,
): string => {
  if (!ipaddr.IPv6.isValid(text)) return text
  const bytes = ipaddr.IPv6.parse(text).toByteArray()
  if (bytes[11] !== 0xff || bytes[12] !== 0xfe) return text
  const octets = [...bytes.slice(8, 11), ...bytes.slice(13)]
  octets[0] = (octets[0] ?? 0) ^ 2
  const mac = octets.map(octet => octet.toString(16).padStart(2, '0')).join(':')
  if (!isPersonal(mac)) return text
  return new ipaddr.IPv6([...bytes.slice(0, 8), ...hashes.hashInterfaceId(mac)]).toString()
}

interface DeclaredMacs {
  /** Addresses that the row states of a cell, or of a device that answers SNMP. */
  own: ReadonlySet<string>
  /** Addresses that are personal whatever their bits are. */
  personal: ReadonlySet<string>
}

const listDeclared = (module: string, row: Row): DeclaredMacs => {
  const set = (...macs: unknown[]): ReadonlySet<string> =>
    new Set(macs.flatMap(mac => (typeof mac === 'string' ? (formatMac(mac) ?? []) : [])))
  if (module === 'ble-scan') return { own: set(), personal: set(row.address) }
  if (module === 'network-map' && row.kind === 'own') return { own: set(row.mac), personal: set() }
  if (module === 'snmp-discover') {
    const interfaces = Array.isArray(row.interfaces) ? row.interfaces : []
    const own = set(row.engine_mac, ...interfaces.map(({ mac }) => mac))
    return { own, personal: set() }
  }
  return { own: set(), personal: set() }
}

const replaceTexts = (value: unknown, replace: (text: string) => string): unknown => {
  if (typeof value === 'string') return replace(value)
  if (Array.isArray(value)) return value.map(each => replaceTexts(each, replace))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [replace(name), replaceTexts(each, replace)]),
  )
}

/**
 * Locally administered prefixes that hypervisors and clouds give to machines: QEMU and libvirt
 * (52:54:00, fe:54:00 on the host's side), VirtualBox (0a:00:27), Google Compute Engine (42:01), and
 * the pod networks of Kubernetes (0a:58, OVN).
 */
const MACHINE = /^(52:54:00|fe:54:00|0a:00:27|42:01|0a:58)/

/**
 * Tells whether a MAC address in canonical form belongs to a person's device by the rule of
 * `docs/discovery.md`: locally administered, as phones, tablets and computers choose them for each
 * network, and not one of a hypervisor, container or virtual router. The address alone decides, so
 * that all modules agree.
 */
const isPersonalMac = (mac: string): boolean =>
  isPrivateMac(mac) && rejectMac(mac) === undefined && !MACHINE.test(mac)
