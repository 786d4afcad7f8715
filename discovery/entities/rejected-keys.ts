import type { SightingKey } from '../sighting.ts'

/** Reason why a value identifies nothing: many things carry it, or nothing keeps it. */
export type RejectedKeyReason =
  | 'malformed'
  | 'virtual_router'
  | 'group_address'
  | 'container_address'
  | 'placeholder'
  | 'default_certificate'
  | 'random_address'
  | 'host_local_address'

/**
 * MAC addresses of virtual routers, which move between machines: VRRP for IPv4 and IPv6 (RFC 9568,
 * 7.3), CARP, which uses the same range (OpenBSD carp(4)), and HSRP version 1 and 2 (RFC 2281, 5.3;
 * Cisco's configuration guide of HSRP).
 */
const VIRTUAL_ROUTER = /^(00:00:5e:00:0[12]|00:00:0c:07:ac|00:00:0c:9f:f|00:05:73:a0:0)/

/** Docker gives its containers addresses that start like this (Docker, bridge driver). */
const CONTAINER_MAC = /^02:42:/

/** Values that systems report in place of an address that they hide or lack. */
const PLACEHOLDER_MAC = /^(02:00:00:00:00:00|(00:){5}00|(ff:){5}ff)$/

/**
 * Serial numbers and asset identifiers that boards carry when nobody filled them in, as they are
 * found in the DMI tables of current machines (DMTF DSP0134, 7.2).
 */
const PLACEHOLDER_SERIALS = new Set([
  'to be filled by oem',
  'default string',
  'system serial number',
  'chassis serial number',
  'base board serial number',
  'serial number',
  'not specified',
  'not applicable',
  'not available',
  'unknown',
  'none',
  'null',
  'n/a',
  'na',
  'oem',
  'invalid',
  'empty',
  'default',
  '0123456789',
  '123456789',
  '1234567890',
  '12345678',
  '1234567',
  '123456',
  '03000200-0400-0500-0006-000700080009',
])

/** Hosts that every machine is to itself, and names that installers give to all of them. */
const COMMON_NAMES = new Set([
  'localhost',
  'localhost.localdomain',
  'ip6-localhost',
  'debian',
  'ubuntu',
  'raspberrypi',
  'unknown',
  'android',
  'iphone',
])

/** Says why a MAC address in canonical form identifies nothing; undefined when it does. */
export const rejectMac = (mac: string): RejectedKeyReason | undefined => {
  if (PLACEHOLDER_MAC.test(mac)) return mac.startsWith('ff') ? 'group_address' : 'placeholder'
  if (VIRTUAL_ROUTER.test(mac)) return 'virtual_router'
  if (isGroupMac(mac)) return 'group_address'
  return CONTAINER_MAC.test(mac) ? 'container_address' : undefined
}

/** True for broadcast and multicast: the lowest bit of the first byte (IEEE 802, 8.2.2). */
const isGroupMac = (mac: string): boolean => (Number.parseInt(mac.slice(0, 2), 16) & 1) === 1

/** True for an address that no maker assigned: the second lowest bit of the first byte. */
export const isPrivateMac = (mac: string): boolean =>
  (Number.parseInt(mac.slice(0, 2), 16) & 2) === 2

/** Says why a value that is no address identifies nothing; undefined when it does. */
export const rejectText = ({ kind, value }: SightingKey): RejectedKeyReason | undefined => {
  if (/^(.)\1*$/.test(value.replaceAll(/[^a-z0-9]/g, '')) || !/[a-z0-9]/.test(value))
    return 'placeholder'
  if (kind === 'serial' && isPlaceholderSerial(value)) return 'placeholder'
  if ((kind === 'name' || kind === 'fqdn') && COMMON_NAMES.has(value)) return 'placeholder'
  return undefined
}

/** Shortest serial number that counts; shorter ones are numbers of slots and versions. */
const MIN_SERIAL = 5

const isPlaceholderSerial = (value: string): boolean =>
  value.length < MIN_SERIAL || PLACEHOLDER_SERIALS.has(value.replaceAll('.', ''))
