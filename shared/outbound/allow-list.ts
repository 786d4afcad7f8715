import ipaddr from 'ipaddr.js'
import * as z from 'zod'

/** One private target of the configuration: a host name or a range of addresses, and a port. */
export type AllowedTarget =
  | { host: string; port: number }
  | { range: [ipaddr.IPv4 | ipaddr.IPv6, number]; port: number }

const FORM = /^(?:\[([0-9a-f:.]+(?:\/\d+)?)\]|([^[\]:]+)):(\d{1,5})$/i
const NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i

/** `hooks.lan:443`, `10.0.0.5:8443`, `10.1.0.0/16:8443`, `[fd00::/8]:443`; undefined for others. */
export const parseAllowed = (text: string): AllowedTarget | undefined => {
  const [, six, other = '', digits] = FORM.exec(text) ?? []
  const port = Number(digits)
  if (digits === undefined || port < 1 || port > 65_535) return undefined
  const place = six ?? other
  const cidr = place.includes('/') ? place : `${place}/${six === undefined ? 32 : 128}`
  if (
    six === undefined ? ipaddr.IPv4.isValidCIDRFourPartDecimal(cidr) : ipaddr.IPv6.isValidCIDR(cidr)
  )
    return { range: ipaddr.parseCIDR(cidr), port }
  // a name whose last label is a number is an address to some (WHATWG URL, host parsing)
  if (six !== undefined || !NAME.test(place) || /(^|\.)(\d+|0x[0-9a-f]*)$/i.test(place))
    return undefined
  return { host: place.toLowerCase(), port }
}

/** Schema of the list of allowed targets in a configuration. */
export const AllowList = z
  .array(
    z.string().refine(text => parseAllowed(text) !== undefined, {
      error: 'is not host:port, address:port or CIDR:port ([…]:port for IPv6)',
    }),
  )
  .max(1000)
  .default([])

export const allowsHost = (
  allowed: readonly AllowedTarget[],
  host: string,
  port: number,
): boolean => allowed.some(each => 'host' in each && each.host === host && each.port === port)

export const allowsAddress = (
  allowed: readonly AllowedTarget[],
  address: ipaddr.IPv4 | ipaddr.IPv6,
  port: number,
): boolean =>
  allowed.some(
    each =>
      'range' in each &&
      each.port === port &&
      each.range[0].kind() === address.kind() &&
      address.match(each.range),
  )

/** A target given as an address is matched by address; any other by name. */
export const allowsTarget = (
  allowed: readonly AllowedTarget[],
  { host, port, literal }: { host: string; port: number; literal: boolean },
): boolean =>
  literal ? allowsAddress(allowed, ipaddr.parse(host), port) : allowsHost(allowed, host, port)
