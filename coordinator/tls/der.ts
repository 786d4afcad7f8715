import { isIPv4 } from 'node:net'

/*
 * As much of DER (ITU-T X.690) as a certificate needs: a value is a tag, a length and its bytes.
 */

export const value = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content])
}

/** X.690 8.1.3: below 128 one byte, else the number of bytes and the bytes. */
const lengthOf = (length: number): Buffer => {
  if (length < 128) return Buffer.from([length])
  const bytes = Buffer.from(length.toString(16).padStart(length < 256 ? 2 : 4, '0'), 'hex')
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes])
}

export const sequence = (...parts: Uint8Array[]): Buffer => value(0x30, ...parts)
export const setOf = (...parts: Uint8Array[]): Buffer => value(0x31, ...parts)
export const utf8 = (text: string): Buffer => value(0x0c, Buffer.from(text))
export const octets = (bytes: Uint8Array): Buffer => value(0x04, bytes)
export const yes = (): Buffer => value(0x01, Buffer.from([0xff]))

/** `unused` bits at the end do not count. */
export const bits = (bytes: Uint8Array, unused = 0): Buffer =>
  value(0x03, Buffer.from([unused]), bytes)

/** A whole number that is not negative, from its bytes. */
export const integer = (bytes: Uint8Array): Buffer => {
  const first = bytes[0] ?? 0
  return value(0x02, ...(first >= 128 ? [Buffer.from([0])] : []), bytes)
}

/** `1.2.840.10045`: the first two arcs share a byte, the others have 7 bits a byte (X.690 8.19). */
export const objectId = (text: string): Buffer => {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  return value(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

const base128 = (arc: number): number[] => {
  const digits = [arc & 127]
  for (let rest = arc >>> 7; rest > 0; rest >>>= 7) digits.unshift((rest & 127) | 128)
  return digits
}

/** RFC 5280 4.1.2.5: two digits of the year until 2049. */
export const time = (at: number): Buffer => {
  const digits = `${new Date(at).toISOString().replaceAll(/[-:T]|\.\d+Z$/g, '')}Z`
  return at < Date.UTC(2050, 0)
    ? value(0x17, Buffer.from(digits.slice(2)))
    : value(0x18, Buffer.from(digits))
}

/** A context-specific tag around other values, or around bytes when it is `plain`. */
export const tagged = (number: number, ...parts: Uint8Array[]): Buffer =>
  value(0xa0 | number, ...parts)
export const plain = (number: number, bytes: Uint8Array): Buffer => value(0x80 | number, bytes)

/** `::ffff:10.0.0.1` is 10.0.0.1 as seen by a socket for both (RFC 4291 2.5.5.2). */
export const plainAddress = (address: string): string => address.replace(/^::ffff:(?=[\d.]+$)/i, '')

/** An address as RFC 5280 4.2.1.6 wants it: 4 or 16 bytes. */
export const addressBytes = (address: string): Buffer => {
  const plain = plainAddress(address)
  return isIPv4(plain) ? v4Bytes(plain) : v6Bytes(plain)
}

const v4Bytes = (address: string): Buffer => Buffer.from(address.split('.').map(Number))

const v6Bytes = (address: string): Buffer => {
  const hex = address.replace(/[\d.]+\.\d+$/, last =>
    v4Bytes(last).toString('hex').replace(/.{4}/, '$&:'),
  )
  const [head = '', tail] = hex.split('::')
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'))
  const left = groups(head)
  const right = groups(tail ?? '')
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length
  const all = [...left, ...Array<string>(zeros).fill('0'), ...right]
  return Buffer.from(all.map(group => group.padStart(4, '0')).join(''), 'hex')
}
