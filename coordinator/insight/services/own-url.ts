import { isIPv6 } from 'node:net'

/** Address of a listener without TLS: `http://127.0.0.1:8080`, `http://[::1]:8080`. */
export const ownUrlOf = (host: string, port: number): string =>
  `http://${isIPv6(host) ? `[${host}]` : host}:${port}`
