import type * as z from 'zod'
import type { BleRow } from '../../../modules/network/ble-scan.ts'

export type EddystoneFrame = z.infer<typeof BleRow>['eddystone'][number]

const EMPTY = {
  ...{ namespace: null, instance: null, url: null },
  ...{ battery_mv: null, temperature_c: null, uptime_s: null },
}

/**
 * Frame of service data 0xFEAA (google/eddystone, `protocol-specification.md`); undefined for one
 * that is too short for its kind.
 */
export const readEddystone = (given: Uint8Array): EddystoneFrame | undefined => {
  const data = Buffer.from(given)
  if (data[0] === 0x00) return readUid(data)
  if (data[0] === 0x10) return readUrl(data)
  if (data[0] === 0x20) return readTelemetry(data)
  if (data[0] === 0x30) return { ...EMPTY, frame: 'eid' }
  return data.length === 0 ? undefined : { ...EMPTY, frame: 'other' }
}

const readUid = (data: Buffer): EddystoneFrame | undefined =>
  data.length < 18
    ? undefined
    : {
        ...EMPTY,
        frame: 'uid',
        namespace: data.toString('hex', 2, 12),
        instance: data.toString('hex', 12, 18),
      }

const SCHEMES = ['http://www.', 'https://www.', 'http://', 'https://']
const DOMAINS = ['.com', '.org', '.edu', '.net', '.info', '.biz', '.gov']
/** Codes 0 to 6 are the domains with a slash, 7 to 13 those without. */
const EXPANSIONS = [...DOMAINS.map(domain => `${domain}/`), ...DOMAINS]

/** Bytes that are neither a code nor a printable letter end no valid address. */
const readUrl = (data: Buffer): EddystoneFrame | undefined => {
  const scheme = SCHEMES[data[2] ?? -1]
  if (scheme === undefined) return undefined
  const parts = [...data.subarray(3)].map(expand)
  if (parts.includes(undefined)) return undefined
  return { ...EMPTY, frame: 'url', url: `${scheme}${parts.join('')}`.slice(0, 256) }
}

const expand = (byte: number): string | undefined =>
  byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : EXPANSIONS[byte]

/** Values that say "not supported": 0 mV, and -128 degrees. */
const readTelemetry = (data: Buffer): EddystoneFrame | undefined => {
  if (data.length < 14 || data[1] !== 0) return undefined
  const battery_mv = data.readUInt16BE(2) || null
  const raw = data.readInt16BE(4)
  const temperature_c = raw === -0x8000 ? null : raw / 256
  return { ...EMPTY, frame: 'tlm', battery_mv, temperature_c, uptime_s: data.readUInt32BE(10) / 10 }
}
