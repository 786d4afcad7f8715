import { crc32 } from 'node:zlib'

/** Digits of the checksum and the space after it. */
const HEAD = 9

const checksumOf = (text: string): string =>
  crc32(text)
    .toString(16)
    .padStart(HEAD - 1, '0')

/** Encodes a line: the CRC-32 of its JSON, then the JSON. */
export const encodeLine = (line: object): string => {
  const text = JSON.stringify(line)
  return `${checksumOf(text)} ${text}\n`
}

/** Returns the value of a line without its line end; undefined for a line that was changed. */
export const parseLine = (line: string): unknown => {
  const text = line.slice(HEAD)
  return checksumOf(text) === line.slice(0, HEAD - 1) ? JSON.parse(text) : undefined
}
