import { cleanText } from '../../../../shared/mdns/txt.ts'

const DECODER = new TextDecoder('utf-8', { fatal: true })

/** Text of an octet string: UTF-8, else hexadecimal; null for nothing. */
export const readText = (value: unknown, maxLength: number): string | null => {
  if (typeof value === 'string') return limit(value, maxLength)
  if (!Buffer.isBuffer(value)) return null
  try {
    return limit(DECODER.decode(value), maxLength)
  } catch {
    return limit(value.toString('hex'), maxLength)
  }
}

const limit = (text: string, maxLength: number): string | null => {
  const clean = cleanText(text.replaceAll('\0', '').replace(/\s+/g, ' ')).trim()
  return clean === '' ? null : clean.slice(0, maxLength)
}

/** A MAC address of six octets; null for other lengths. */
export const readMac = (value: unknown): string | null =>
  Buffer.isBuffer(value) && value.length === 6 ? formatMac([...value]) : null

export const formatMac = (octets: readonly number[]): string | null =>
  octets.length === 6 && octets.every(octet => octet >= 0 && octet <= 255)
    ? octets.map(octet => octet.toString(16).padStart(2, '0')).join(':')
    : null

export const readNumber = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null

/** A number of 32 bits; agents that leave out the leading zero send large ones as negative. */
export const readUnsigned = (value: unknown): number | null => {
  const number = readNumber(value)
  if (number === null || number < -(2 ** 31)) return null
  return number < 0 ? number + 2 ** 32 : number
}

/** A 64-bit counter, which the library gives as bytes, in decimal. */
export const readCounter = (value: unknown): string | null => {
  if (typeof value === 'number') return String(value)
  if (!Buffer.isBuffer(value) || value.length === 0 || value.length > 9) return null
  return BigInt.asUintN(64, BigInt(`0x${value.toString('hex')}`)).toString()
}
