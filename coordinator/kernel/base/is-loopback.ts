import { isIPv4 } from 'node:net'

const LOOPBACK_NAMES: readonly string[] = ['localhost', '::1', '[::1]']

/** True for a name or address that never leaves this machine (RFC 6761, RFC 5735, RFC 4291). */
export const isLoopback = (host: string): boolean =>
  LOOPBACK_NAMES.includes(host) || (host.startsWith('127.') && isIPv4(host))
