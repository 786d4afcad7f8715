import { BlockList, isIP } from 'node:net'

/** Format of an entry of `probes.allowed_targets`: `example.org`, `10.0.0.0/8`, `host:8080`. */
export const TARGET_PATTERN = /^[a-z0-9][a-z0-9.:-]{0,252}(\/[0-9]{1,3})?$/

/** A machine that a probe contacts, with the port if there is one. */
export interface ProbeTarget {
  host: string
  port?: number
}

const DEFAULT_PORTS: Record<string, number> = { 'http:': 80, 'https:': 443 }

/** Target of a URL. */
export const parseTarget = (url: string): ProbeTarget => {
  const { hostname, port, protocol } = new URL(url)
  return { host: hostname, port: Number(port) || (DEFAULT_PORTS[protocol] ?? 0) }
}

/**
 * True when one of the entries allows the target. A name allows itself and not its addresses; a
 * network allows the addresses in it. An entry without a port allows ping and the ports of http and
 * https.
 */
export const isAllowed = (target: ProbeTarget, entries: readonly string[]): boolean =>
  entries.some(entry => isAllowedBy(entry, target))

const isAllowedBy = (entry: string, { host, port }: ProbeTarget): boolean => {
  const { name, port: entryPort } = splitEntry(entry)
  const ofPort = entryPort === undefined ? isDefaultPort(port) : entryPort === port
  return ofPort && (name === host || isInside(host, name))
}

const isDefaultPort = (port: number | undefined): boolean =>
  port === undefined || Object.values(DEFAULT_PORTS).includes(port)

/** Splits `host:8080`; an IPv6 address has no port here. */
const splitEntry = (entry: string): { name: string; port?: number } => {
  const [name = '', port, ...more] = entry.split(':')
  return port === undefined || more.length > 0 ? { name: entry } : { name, port: Number(port) }
}

/**
 * True when an address is in a network. False for names, because the address of a name can change.
 */
const isInside = (host: string, network: string): boolean => {
  const [base = '', bits] = network.split('/')
  const version = isIP(host)
  if (version === 0 || bits === undefined || isIP(base) !== version) return false
  const family = version === 4 ? 'ipv4' : 'ipv6'
  const list = new BlockList()
  list.addSubnet(base, Math.min(Number(bits), version === 4 ? 32 : 128), family)
  return list.check(host, family)
}
