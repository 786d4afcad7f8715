import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { type Answer, decode, encode, type Packet, type RecordType } from 'dns-packet'
import type { Test } from 'tap'

/** Records by type and name: `TXT shoal.example`. A name without any does not exist. */
export type Zone = Readonly<Record<string, Answer[]>>

interface DnsServerOptions {
  /** True answers over UDP with the truncated flag only. */
  isTruncated?: boolean
}

const RESPONSE = 0x8180
const TRUNCATED = 0x0200
const NO_NAME = 3

/** A resolver at 127.0.0.1 that knows one zone; the result is its address. */
export const openDnsServer = async (
  t: Pick<Test, 'teardown'>,
  zone: Zone,
  { isTruncated = false }: DnsServerOptions = {},
): Promise<{ address: string; asked: string[] }> => {
  const asked: string[] = []
  const names = new Set(Object.keys(zone).map(key => key.split(' ')[1] ?? ''))
  const reply = (data: Buffer, isUdp: boolean): Uint8Array | undefined => {
    const packet = readPacket(data)
    if (packet === undefined) return undefined
    const { id = 0, questions = [] } = packet
    const [{ name, type } = { name: '', type: 'A' as RecordType }] = questions
    asked.push(`${isUdp ? 'udp' : 'tcp'} ${type} ${name}`)
    const exists = [...names].some(each => each === name || each.endsWith(`.${name}`))
    const flags = RESPONSE | (isUdp && isTruncated ? TRUNCATED : 0) | (exists ? 0 : NO_NAME)
    const answers = isUdp && isTruncated ? [] : (zone[`${type} ${name}`] ?? [])
    return encode({ type: 'response', id, flags, questions, answers })
  }
  const tcp = createServer(socket => {
    socket.on('error', () => {})
    socket.once('data', data => {
      const message = reply(data.subarray(2), false)
      if (message === undefined) return void socket.destroy()
      const length = Buffer.alloc(2)
      length.writeUInt16BE(message.length)
      socket.end(Buffer.concat([length, message]))
    })
  }).listen(0, '127.0.0.1')
  await once(tcp, 'listening')
  const { port } = tcp.address() as { port: number }
  const udp = createSocket('udp4')
  udp.on('message', (data, from) => {
    const message = reply(data, true)
    if (message !== undefined) udp.send(message, from.port, from.address)
  })
  udp.bind(port, '127.0.0.1')
  await once(udp, 'listening')
  t.teardown(() => {
    udp.close()
    tcp.close()
  })
  return { address: `127.0.0.1:${port}`, asked }
}

/** A scan of another test may send anything to this port, which answers questions only. */
const readPacket = (data: Buffer): Packet | undefined => {
  try {
    return decode(data)
  } catch {
    return undefined
  }
}
