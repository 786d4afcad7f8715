import type * as z from 'zod'
import type { BleRow } from '../../../modules/network/ble-scan.ts'

type Row = z.infer<typeof BleRow>

const APPLE = 0x00_4c
const MICROSOFT = 0x00_06

/** What manufacturer data says (Bluetooth Core Specification Supplement, part A, 1.4). */
export interface ManufacturerFacts {
  companyId: number
  ibeacon: Row['ibeacon']
  protocol: 'ibeacon' | 'find_my' | 'swift_pair' | undefined
}

/** Facts of manufacturer data; undefined when it is too short to name a company. */
export const readManufacturerData = (given: Uint8Array): ManufacturerFacts | undefined => {
  if (given.length < 2) return undefined
  const data = Buffer.from(given)
  const companyId = data.readUInt16LE(0)
  const ibeacon = companyId === APPLE ? readIBeacon(data.subarray(2)) : null
  return { companyId, ibeacon, protocol: findProtocol(companyId, data, ibeacon !== null) }
}

/** Frame of a proximity beacon (Apple, "Proximity Beacon Specification", release R1). */
const readIBeacon = (data: Buffer): Row['ibeacon'] => {
  if (data.length < 23 || data[0] !== 0x02 || data[1] !== 0x15) return null
  return {
    uuid: toUuid(data.subarray(2, 18)),
    major: data.readUInt16BE(18),
    minor: data.readUInt16BE(20),
    power_at_1m_dbm: data.readInt8(22),
  }
}

const toUuid = (bytes: Buffer): string =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/**
 * Type 0x12 of Apple is that of the Find My network (Apple, "Find My Network Accessory
 * Specification"); scenario 0x03 of Microsoft that of Swift Pair (Microsoft Learn, "Swift Pair").
 */
const findProtocol = (
  companyId: number,
  data: Buffer,
  isBeacon: boolean,
): ManufacturerFacts['protocol'] => {
  if (isBeacon) return 'ibeacon'
  if (companyId === APPLE && data[2] === 0x12) return 'find_my'
  return companyId === MICROSOFT && data[2] === 0x03 ? 'swift_pair' : undefined
}
