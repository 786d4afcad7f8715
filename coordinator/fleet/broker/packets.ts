import mqtt from 'mqtt-packet'

/** Cuts a byte stream into whole packets; the guard before it bounds their size. */
export class PacketReader {
  #rest: Buffer = Buffer.alloc(0)

  feed(chunk: Buffer): Buffer[] {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const packets: Buffer[] = []
    for (;;) {
      const length = packetLength(bytes)
      if (length === undefined || bytes.length < length) break
      packets.push(bytes.subarray(0, length))
      bytes = bytes.subarray(length)
    }
    this.#rest = bytes
    return packets
  }
}

/** Length of the packet at the beginning, header included; undefined while that is not known. */
const packetLength = (bytes: Buffer): number | undefined => {
  let length = 0
  for (let i = 1; i < bytes.length && i <= 4; i++) {
    const byte = bytes[i] as number
    length += (byte & 127) * 128 ** (i - 1)
    if ((byte & 128) === 0) return length + i + 1
  }
  return undefined
}

/** Throws on a packet that is malformed, in the parser's words. */
export const decodePacket = (bytes: Buffer): mqtt.Packet => {
  const parser = mqtt.parser()
  let packet: mqtt.Packet | undefined
  parser.on('packet', found => {
    packet = found
  })
  parser.on('error', (error: unknown) => {
    throw error
  })
  parser.parse(bytes)
  if (packet === undefined) throw new Error('malformed')
  return packet
}
