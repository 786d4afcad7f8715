import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Address of the client behind trusted proxies, in place of Fastify's own `ip`. */
    address: string
  }
}

const HEADER = 'x-forwarded-for'

/** Returns whether the text is an IP address or a range of them in CIDR notation. */
export const isAddressRange = (text: string): boolean =>
  ipaddr.isValid(text) || ipaddr.isValidCIDR(text)

/**
 * Reverse proxies whose `X-Forwarded-For` is believed. Anybody can send that header, so an address
 * in it counts only if a trusted proxy has added it.
 */
export class TrustedProxies {
  readonly #ranges: readonly [ipaddr.IPv4 | ipaddr.IPv6, number][]

  /** @param ranges addresses, or ranges in CIDR notation */
  constructor(ranges: readonly string[]) {
    this.#ranges = ranges.map(parseRange)
  }

  /** False for no address, as that of a socket that was reset. */
  has(address: string | undefined): boolean {
    if (this.#ranges.length === 0 || address === undefined) return false
    const plain = normaliseAddress(address)
    if (isIP(plain) === 0) return false
    const parsed = ipaddr.parse(plain)
    return this.#ranges.some(
      ([range, bits]) => range.kind() === parsed.kind() && parsed.match(range as never, bits),
    )
  }

  /**
   * Returns the address of the client: that of the connection or, where that is a trusted proxy,
   * the last one in `X-Forwarded-For` that is not. Returns the proxy's own where the header has no
   * valid address there. Every limit by address and every record uses this function.
   */
  clientAddress({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string {
    let address = normaliseAddress(socket.remoteAddress ?? '')
    if (!this.has(address)) return address
    for (const hop of String(headers[HEADER] ?? '')
      .split(',')
      .reverse()) {
      const next = normaliseAddress(hop.trim())
      if (isIP(next) === 0) return address
      address = next
      if (!this.has(address)) return address
    }
    return address
  }
}

/**
 * Returns an address in the one form by which addresses are compared: without a zone, IPv4 for an
 * IPv4-mapped one, and IPv6 in lower case with its zeros compressed. Other text stays as it is.
 */
export const normaliseAddress = (address: string): string => {
  if (!address.includes(':')) return address
  const [plain = ''] = address.split('%')
  return isIP(plain) === 6 ? ipaddr.process(plain).toString() : address
}

/**
 * Returns an IPv4 address, or the /64 of an IPv6 one, since a host may use any address in it.
 * Returns an empty string for a socket that was reset, which has no address any more.
 */
export const networkOf = (address = ''): string => {
  const plain = normaliseAddress(address)
  if (isIP(plain) !== 6) return plain
  const { parts } = ipaddr.IPv6.parse(plain)
  return parts
    .slice(0, 4)
    .map(part => part.toString(16))
    .join(':')
}

/** IPv4-mapped IPv6 addresses, `::ffff:0:0/96` (RFC 4291, 2.5.5.2). */
const MAPPED_BITS = 96

const parseRange = (text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] => {
  const isRange = ipaddr.isValidCIDR(text)
  const parsed = isRange ? ipaddr.parseCIDR(text)[0] : ipaddr.parse(text)
  const bits = isRange ? ipaddr.parseCIDR(text)[1] : parsed.kind() === 'ipv4' ? 32 : 128
  const isMapped = parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress()
  if (isMapped && bits >= MAPPED_BITS) return [parsed.toIPv4Address(), bits - MAPPED_BITS]
  return [parsed, bits]
}
