import type { IncomingMessage } from 'node:http'
import ipaddr from 'ipaddr.js'

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
    if (this.#ranges.length === 0 || address === undefined || !ipaddr.isValid(address)) return false
    const parsed = ipaddr.process(address)
    return this.#ranges.some(
      ([range, bits]) => range.kind() === parsed.kind() && parsed.match(range as never, bits),
    )
  }

  /**
   * Returns the address of the client: that of the connection or, where that is a trusted proxy,
   * the last one in `X-Forwarded-For` that is not. Returns the proxy's own where the header has no
   * valid address there.
   */
  clientAddress({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string {
    let address = socket.remoteAddress ?? ''
    if (!this.has(address)) return address
    for (const hop of String(headers[HEADER] ?? '')
      .split(',')
      .reverse()) {
      const next = hop.trim()
      if (!ipaddr.isValid(next)) return address
      address = next
      if (!this.has(address)) return address
    }
    return address
  }
}

const parseRange = (text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] => {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text)
  const address = ipaddr.process(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}
