/** Start value of the checksum. */
const CRC_START = 0xffff

/**
 * CRC-16/MCRF4XX, the checksum of MAVLink frames (MAVLink guide, "Serialization"; `crc_calculate`
 * in `checksum.h` of the C library).
 */
export const calculateCrc = (bytes: Uint8Array, start = CRC_START): number => {
  let crc = start
  for (const byte of bytes) {
    let low = byte ^ (crc & 0xff)
    low = (low ^ (low << 4)) & 0xff
    crc = ((crc >> 8) ^ (low << 8) ^ (low << 3) ^ (low >> 4)) & 0xffff
  }
  return crc
}
