import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { getServers } from 'node:dns'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type Answer, decode, encode, type Packet, type RecordType } from 'dns-packet'
import { UpstreamError } from './client.ts'

export interface DnsAnswer {
  /** `nodata`: the name exists, without a record of the type. */
  outcome: 'found' | 'nodata' | 'no_name'
  answers: readonly Answer[]
  /** True when the resolver says that it has checked the signatures (RFC 4035, 3.2.3). */
  isAuthentic: boolean
}

/** Asks the resolvers of the machine, or those that the operator has named. */
export interface DnsResolver {
  /** @throws UpstreamError when no resolver answers */
  resolve(name: string, type: RecordType, signal: AbortSignal): Promise<DnsAnswer>
}

interface ResolverParts {
  /** Lists `address` or `address:port`; those of the machine are asked when there are none. */
  listServers: () => readonly string[]
  isOffline: () => boolean
  timeoutMs?: number
}

/** Size that passes most networks in one piece (https://dnsflagday.net/2020). */
const UDP_BYTES = 1232
const TIMEOUT_MS = 3000
const NO_NAME = 'NXDOMAIN'
/** Flags in a header: recursion desired, truncated, authentic data (RFC 1035, 4.1.1; RFC 4035). */
const RECURSION = 0x0100
const TRUNCATED = 0x0200
const AUTHENTIC = 0x0020

export const createDnsResolver = ({
  listServers,
  isOffline,
  timeoutMs = TIMEOUT_MS,
}: ResolverParts): DnsResolver => ({
  resolve: async (name, type, signal) => {
    if (isOffline()) throw new UpstreamError('dns', 'offline', 'upstreams.egress is off')
    const failures: string[] = []
    const servers = listServers()
    for (const server of servers.length > 0 ? servers : getServers()) {
      try {
        const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
        return readReply(await query(parseServer(server), name, type, limit))
      } catch (error) {
        signal.throwIfAborted()
        failures.push(`${server}: ${(error as Error).message}`)
      }
    }
    const why = failures.length === 0 ? 'no resolver is configured' : failures.join('; ')
    throw new UpstreamError('dns', 'not_reached', `${type} of ${name} was not answered: ${why}`)
  },
})

interface Server {
  host: string
  port: number
}

/** `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`. */
const parseServer = (text: string): Server => {
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]+|.*:.*:.*?))(?::(\d+))?$/.exec(text) ?? []
  const isBareIpv6 = bracketed === undefined && text.split(':').length > 2
  if (isBareIpv6) return { host: text, port: 53 }
  return { host: bracketed ?? plain ?? text, port: Number(port ?? 53) }
}

const query = async (
  server: Server,
  name: string,
  type: RecordType,
  signal: AbortSignal,
): Promise<Packet> => {
  const id = randomInt(0x10000)
  const message = encode({
    type: 'query',
    id,
    flags: RECURSION | AUTHENTIC,
    questions: [{ type, name, class: 'IN' }],
    additionals: [
      // DO: signatures are wanted too (RFC 3225)
      {
        type: 'OPT',
        name: '.',
        udpPayloadSize: UDP_BYTES,
        flags: 0x8000,
        extendedRcode: 0,
        ednsVersion: 0,
        flag_do: true,
        options: [],
      },
    ],
  })
  const isReply = (packet: Packet): boolean =>
    packet.id === id && packet.type === 'response' && isSameQuestion(packet, name, type)
  const reply = await askByUdp(server, message, isReply, signal)
  return ((reply.flags ?? 0) & TRUNCATED) === 0 ? reply : askByTcp(server, message, isReply, signal)
}

const isSameQuestion = ({ questions = [] }: Packet, name: string, type: RecordType): boolean => {
  const [question] = questions
  return question?.name.toLowerCase() === name.toLowerCase() && question.type === type
}

/** Packets that do not answer the question are ignored: anybody can send one. */
const askByUdp = async (
  { host, port }: Server,
  message: Uint8Array,
  isReply: (packet: Packet) => boolean,
  signal: AbortSignal,
): Promise<Packet> => {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  try {
    const { promise, resolve, reject } = Promise.withResolvers<Packet>()
    socket.on('error', reject)
    socket.on('message', (data, from) => {
      const packet = from.port === port ? tryDecode(data) : undefined
      if (packet !== undefined && isReply(packet)) resolve(packet)
    })
    signal.addEventListener('abort', () => reject(new Error('no answer in time')), { once: true })
    signal.throwIfAborted()
    socket.send(message, port, host)
    return await promise
  } finally {
    socket.close()
  }
}

/** A message has its length in front (RFC 1035, 4.2.2). */
const askByTcp = async (
  { host, port }: Server,
  message: Uint8Array,
  isReply: (packet: Packet) => boolean,
  signal: AbortSignal,
): Promise<Packet> => {
  const socket = connect({ host, port, signal })
  try {
    await once(socket, 'connect', { signal })
    const length = Buffer.alloc(2)
    length.writeUInt16BE(message.length)
    socket.write(Buffer.concat([length, message]))
    let data = Buffer.alloc(0)
    for await (const piece of socket as AsyncIterable<Buffer>) {
      data = Buffer.concat([data, piece])
      if (data.length < 2 || data.length < 2 + data.readUInt16BE(0)) continue
      const packet = tryDecode(data.subarray(2, 2 + data.readUInt16BE(0)))
      if (packet !== undefined && isReply(packet)) return packet
      break
    }
    throw new Error('the answer over TCP could not be read')
  } finally {
    socket.destroy()
  }
}

const tryDecode = (data: Buffer): Packet | undefined => {
  try {
    return decode(data)
  } catch {
    return undefined
  }
}

const readReply = (packet: Packet): DnsAnswer => {
  const { flags = 0, answers = [] } = packet
  const { rcode = 'NOERROR' } = packet as { rcode?: string }
  const isAuthentic = (flags & AUTHENTIC) !== 0
  if (rcode === NO_NAME) return { outcome: 'no_name', answers: [], isAuthentic }
  if (rcode !== 'NOERROR') throw new Error(`the resolver answered ${rcode}`)
  return { outcome: answers.length === 0 ? 'nodata' : 'found', answers, isAuthentic }
}
