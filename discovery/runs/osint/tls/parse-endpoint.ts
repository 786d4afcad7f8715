import { isIP } from 'node:net'

export interface CheckedEndpoint {
  /** Entry as it was written. */
  domain: string
  host: string
  port: number
}

const HTTPS = 443

/** Splits `host`, `host:port`, `[v6]:port` or an address; a missing port is 443. */
export const parseEndpoint = (domain: string): CheckedEndpoint => {
  if (isIP(domain) !== 0) return { domain, host: domain, port: HTTPS }
  const [, v6, name = domain, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(domain) ?? []
  const number = Number(port ?? HTTPS)
  return {
    domain,
    host: (v6 ?? name).slice(0, 253).toLowerCase(),
    port: number >= 1 && number <= 65_535 ? number : HTTPS,
  }
}
