import type * as z from 'zod'
import type { BleRow } from '../../../modules/network/ble-scan.ts'
import { type BtHomeObject, findBoolean, isCounted, NUMBERS } from './bthome-objects.ts'

export type BtHomeFacts = NonNullable<z.infer<typeof BleRow>['bthome']>

const MAX_MEASUREMENTS = 32

/**
 * Measurements of service data 0xFCD2 (bthome.io, "BTHome Data Format"). An object that is not known
 * ends them, since its length is not known either. Those of an encrypted device stay unread.
 */
export const readBtHome = (given: Uint8Array): BtHomeFacts | undefined => {
  const data = Buffer.from(given)
  const info = data[0]
  if (info === undefined) return undefined
  const isEncrypted = (info & 1) !== 0
  const version = info >> 5
  const measurements = isEncrypted || version !== 2 ? {} : readObjects(data.subarray(1))
  return { version, is_encrypted: isEncrypted, measurements }
}

type Measurements = BtHomeFacts['measurements']

const readObjects = (data: Buffer): Measurements => {
  const found: Measurements = {}
  let at = 0
  for (let count = 0; at < data.length && count < MAX_MEASUREMENTS; count++) {
    const id = data[at++] as number
    const object = NUMBERS[id]
    const truth = findBoolean(id)
    if (isCounted(id)) at += 1 + (data[at] ?? 0)
    else if (object !== undefined && at + object.bytes <= data.length) {
      add(found, object.name, readNumber(data, at, object))
      at += object.bytes
    } else if (truth !== undefined && at < data.length) add(found, truth, data[at++] !== 0)
    else break
  }
  return found
}

/** The factor is a decimal fraction, so what multiplying adds behind its digits is noise. */
const readNumber = (
  data: Buffer,
  at: number,
  { bytes, isSigned, factor }: BtHomeObject,
): number => {
  const raw = isSigned ? data.readIntLE(at, bytes) : data.readUIntLE(at, bytes)
  return Math.round(raw * factor * 1000) / 1000
}

/** A device with two thermometers sends the object twice. */
const add = (found: Measurements, name: string, value: number | boolean): void => {
  let unique = name
  for (let number = 2; Object.hasOwn(found, unique); number++) unique = `${name}_${number}`
  found[unique] = value
}
