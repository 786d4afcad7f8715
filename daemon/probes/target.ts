import { BlockList, isIP } from 'node:net'

/** What an entry of `probes.allowed_targets` may look like: `example.org`, `10.0.0.0/8`, `host:8080`. */
export const TARGET = /^[a-z0-9][a-z0-9.:-]{0,252}(\/[0-9]{1,3})?$/

/** A machine that a probe contacts, and the port if it contacts one. */
export interface Target {
  host: string
  port?: number
}

const DEFAULT_PORTS: Record<string, number> = { 'http:': 80, 'https:': 443 }

/** The machine that a URL names. */
export const targetOf = (url: string): Target => {
  const { hostname, port, protocol } = new URL(url)
  return { host: hostname, port: Number(port) || (DEFAULT_PORTS[protocol] ?? 0) }
}

/**
 * Whether one of the entries allows a target. A name allows itself and not its addresses, a network
 * the addresses in it. An entry without a port allows ping and the ports of http and https.
 */
export const isAllowed = (target: Target, entries: readonly string[]): boolean =>
  entries.some(entry => allows(entry, target))

const allows = (entry: string, { host, port }: Target): boolean => {
  const { name, port: entryPort } = parts(entry)
  const ofPort = entryPort === undefined ? isOrdinary(port) : entryPort === port
  return ofPort && (name === host || isInside(host, name))
}

const isOrdinary = (port: number | undefined): boolean =>
  port === undefined || Object.values(DEFAULT_PORTS).includes(port)

/** `host:8080`; an address of version 6 is all colons and has no port here. */
const parts = (entry: string): { name: string; port?: number } => {
  const [name = '', port, ...more] = entry.split(':')
  return port === undefined || more.length > 0 ? { name: entry } : { name, port: Number(port) }
}

/** Only addresses are in networks: the address of a name can change. */
const isInside = (host: string, network: string): boolean => {
  const [base = '', bits] = network.split('/')
  const version = isIP(host)
  if (version === 0 || bits === undefined || isIP(base) !== version) return false
  const family = version === 4 ? 'ipv4' : 'ipv6'
  const list = new BlockList()
  list.addSubnet(base, Math.min(Number(bits), version === 4 ? 32 : 128), family)
  return list.check(host, family)
}
