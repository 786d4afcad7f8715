import ipaddr from 'ipaddr.js'
import type { KeyKind, SightingKey } from '../sighting.ts'
import { isPseudonym } from './pseudonyms.ts'
import { isPrivateMac, type RejectedKeyReason, rejectMac, rejectText } from './rejected-keys.ts'

/** A key in its one canonical form, or the reason why it is none. */
export type NormalisedKey =
  | { key: SightingKey; rejected?: never }
  | { key?: never; rejected: RejectedKeyReason }

const MAC_KINDS: readonly KeyKind[] = ['mac', 'private_mac', 'ble_public_address']
const HEX_KINDS: readonly KeyKind[] = ['snmp_engine_id', 'tls_spki']

/** Shortest values, in hexadecimal digits: an engine id has five bytes (RFC 3411, 5). */
const MIN_HEX: Partial<Record<KeyKind, number>> = { snmp_engine_id: 10, tls_spki: 40 }

/** Brings a key into its canonical form; the kind of a MAC address follows from its bits. */
export const normaliseKey = ({ kind, value }: SightingKey): NormalisedKey => {
  const text = value.trim()
  if (MAC_KINDS.includes(kind)) return normaliseMac(kind, text)
  if (kind === 'ip') return normaliseIp(text)
  if (HEX_KINDS.includes(kind)) return normaliseHex(kind, text)
  return normaliseText(kind, text)
}

/** Writes a MAC address as `aa:bb:cc:dd:ee:ff`; undefined for anything else. */
export const formatMac = (value: string): string | undefined => {
  const digits = value.toLowerCase().replaceAll(/[:.\-\s]/g, '')
  return /^[0-9a-f]{12}$/.test(digits) ? digits.match(/../g)?.join(':') : undefined
}

const normaliseMac = (kind: KeyKind, value: string): NormalisedKey => {
  if (isPseudonym(value)) return { key: { kind: kind === 'mac' ? 'private_mac' : kind, value } }
  const mac = formatMac(value)
  if (mac === undefined) return { rejected: 'malformed' }
  const rejected = rejectMac(mac)
  if (rejected !== undefined) return { rejected }
  const isPrivate = isPrivateMac(mac)
  // a public Bluetooth address is assigned by IEEE like any other (Core Specification 6, B, 1.3.1)
  if (kind === 'ble_public_address')
    return isPrivate ? { rejected: 'random_address' } : { key: { kind, value: mac } }
  return { key: { kind: isPrivate ? 'private_mac' : 'mac', value: mac } }
}

const HOST_LOCAL = new Set(['loopback', 'unspecified', 'linkLocal', 'multicast', 'broadcast'])

const normaliseIp = (value: string): NormalisedKey => {
  const [address = ''] = value.split('%')
  if (!ipaddr.isValid(address)) return { rejected: 'malformed' }
  const parsed = ipaddr.process(address)
  // a link-local address is unique on its link only, and a site may have many
  if (HOST_LOCAL.has(parsed.range())) return { rejected: 'host_local_address' }
  return { key: { kind: 'ip', value: parsed.toString() } }
}

const normaliseHex = (kind: KeyKind, value: string): NormalisedKey => {
  const digits = value.toLowerCase().replaceAll(/^0x|[:\s-]/g, '')
  if (!/^[0-9a-f]+$/.test(digits) || digits.length < (MIN_HEX[kind] ?? 1))
    return { rejected: 'malformed' }
  return finishText(kind, digits)
}

const normaliseText = (kind: KeyKind, value: string): NormalisedKey => {
  const isName = kind === 'fqdn' || kind === 'name'
  const text = isName ? value.toLowerCase().replace(/\.$/, '') : value.toLowerCase()
  // a key is stored as it is, and PostgreSQL keeps neither NUL nor half a surrogate pair
  if (text === '' || /\p{Cc}/u.test(text) || !text.isWellFormed()) return { rejected: 'malformed' }
  if (kind === 'fqdn' && !text.includes('.')) return finishText('name', text)
  // `.local` names are unique on their link only (RFC 6762, 3)
  return finishText(kind === 'fqdn' && text.endsWith('.local') ? 'name' : kind, text)
}

const finishText = (kind: KeyKind, value: string): NormalisedKey => {
  const rejected = rejectText({ kind, value })
  return rejected === undefined ? { key: { kind, value } } : { rejected }
}
