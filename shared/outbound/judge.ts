import ipaddr from 'ipaddr.js'
import { ShoalError } from '../errors.ts'
import { isMetadataAddress } from '../metadata-address.ts'
import { type AllowedTarget, allowsAddress, allowsHost } from './allow-list.ts'

/*
 * Which addresses that a user named may be asked: what is public, over TLS, and what the operator
 * allows by name. Judged when an address is given, and again, with what its name resolves to, each
 * time before a connection is made.
 */

export interface JudgeRules {
  allowed: readonly AllowedTarget[]
  /** Plain HTTP to what is allowed by name. */
  allowHttp: boolean
  /** Addresses of this machine: what listens there may rely on a firewall in front of it. */
  ownAddresses?: () => readonly string[]
}

/** An address that has passed. */
export interface Target {
  url: URL
  /** Host name without the brackets of IPv6. */
  host: string
  port: number
  /** The host is an address itself. */
  literal: boolean
  /** True when the target is allowed by name: it may resolve to any address. */
  trusted: boolean
}

const MAX_URL_CHARACTERS = 2048

/**
 * Ports of other protocols, which a request could be made to speak to (WHATWG fetch, "bad port"),
 * and those of databases and control planes.
 */
const DENIED_PORTS: ReadonlySet<number> = new Set([
  ...[0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101],
  ...[102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 138, 139, 143, 161, 162],
  ...[179, 389, 427, 445, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563],
  ...[587, 601, 623, 636, 873, 989, 990, 993, 995, 1433, 1521, 1719, 1720, 1723, 1883, 2049, 2181],
  ...[2375, 2376, 2379, 2380, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432, 5672, 5900, 5984],
  ...[6000, 6379, 6443, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 8883, 9042, 9200, 9300],
  ...[10_080, 10_250, 11_211, 27_017],
])

/** Names that never leave a machine or a network (RFC 6761, RFC 6762, RFC 8375, RFC 9476). */
const LOCAL_NAMES =
  /(^|\.)(localhost|local|localdomain|internal|intranet|lan|home|corp|private|test|example|invalid|onion|alt|home\.arpa|in-addr\.arpa|ip6\.arpa)$/

/** Throws `invalid_request` for an address that nobody may have us ask. */
export const judgeUrl = (text: string, rules: JudgeRules): Target => {
  const url = parse(text)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const literal = ipaddr.isValid(host)
  const trusted = allowsHost(rules.allowed, host, port) || isTrustedAddress(host, port, rules)
  if (url.protocol === 'http:' && !(rules.allowHttp && trusted))
    throw createUrlError('the address must begin with https://')
  if (!trusted && DENIED_PORTS.has(port))
    throw createRefusedError(`port ${port} is that of another protocol`)
  if (literal) judgeAddress(host, port, rules)
  else if (!trusted) judgeName(host)
  return { url, host, port, literal, trusted }
}

const parse = (text: string): URL => {
  if (text.length > MAX_URL_CHARACTERS)
    throw createRefusedError(`it is longer than ${MAX_URL_CHARACTERS} characters`)
  // what the parser would drop or turn around silently: two parsers must not differ on it
  if (/[\s\\\p{Cc}\p{Cf}]/u.test(text))
    throw createRefusedError('it has a character that no address has')
  if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text))
    throw createRefusedError('it is not an https address')
  const url = new URL(text)
  if (url.username !== '' || url.password !== '' || hasUser(text))
    throw createRefusedError('it must not carry a user or password')
  if (url.hash !== '' || text.includes('#')) throw createRefusedError('it must not have a fragment')
  requirePlainHost(text, url)
  return url
}

const authorityOf = (text: string): string => /^https?:\/\/([^/?#]*)/i.exec(text)?.[1] ?? ''

const hasUser = (text: string): boolean => authorityOf(text).includes('@')

/**
 * The host must be spelled as it is read: 2130706433, 0x7f.1, 127.1, full-width digits, percent
 * signs and other letters all turn into something else in the parser.
 */
const requirePlainHost = (text: string, url: URL): void => {
  const written = authorityOf(text).replace(/:\d*$/, '').toLowerCase()
  if (url.hostname.endsWith('.')) throw createRefusedError('its host must not end with a dot')
  if (written.startsWith('[')) {
    if (!ipaddr.IPv6.isValid(written.slice(1, -1)))
      throw createRefusedError('its host is not an address')
    return
  }
  if (written !== url.hostname)
    throw createRefusedError('its host is not spelled plainly; write other letters as xn--…')
}

const judgeName = (host: string): void => {
  if (!host.includes('.')) throw createRefusedError(`${host} is not a public name`)
  if (LOCAL_NAMES.test(host)) throw createRefusedError(`${host} is not a public name`)
  if (
    host.length > 253 ||
    !host.split('.').every(label => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label))
  )
    throw createRefusedError(`${host} is not a public name`)
}

const EXCEPTIONS = 'an operator may list it in outbound.allow'

/** Throws `invalid_request` for an address that is not of the public internet and not allowed. */
export const judgeAddress = (
  text: string,
  port: number,
  { allowed, ownAddresses = () => [] }: JudgeRules,
  trusted = false,
): void => {
  if (!ipaddr.isValid(text)) throw createRefusedError(`${text} is not an address`)
  const address = ipaddr.parse(text)
  if (isMetadataAddress(address))
    throw createRefusedError(`${text} is an address of a cloud's metadata`)
  if (trusted || allowsAddress(allowed, address, port)) return
  if (!isPublic(address))
    throw createRefusedError(`${text} is not an address of the public internet; ${EXCEPTIONS}`)
  if (ownAddresses().some(mine => isSame(mine, address)))
    throw createRefusedError(`${text} is an address of this machine; ${EXCEPTIONS}`)
}

const isSame = (text: string, address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
  ipaddr.isValid(text) && ipaddr.parse(text).toNormalizedString() === address.toNormalizedString()

/** 2000::/3 is all of IPv6 that is given out (IANA, IPv6 Global Unicast Address Assignments). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Unicast and of no special use (IANA special-purpose registries, in ipaddr.js). Addresses of IPv4
 * inside IPv6 (mapped, 6to4, NAT64, Teredo, compatible) are none: what they reach is elsewhere.
 */
const isPublic = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean => {
  if (address.range() !== 'unicast') return false
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(GLOBAL_UNICAST)
}

const isTrustedAddress = (host: string, port: number, { allowed }: JudgeRules): boolean =>
  ipaddr.isValid(host) && allowsAddress(allowed, ipaddr.parse(host), port)

const createRefusedError = (reason: string): ShoalError =>
  createUrlError(`the address is not allowed: ${reason}`)

const createUrlError = (message: string): ShoalError =>
  new ShoalError('invalid_request', message, { param: 'url' })
