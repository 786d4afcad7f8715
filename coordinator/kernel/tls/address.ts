import ipaddr from 'ipaddr.js'

/**
 * The address in RFC 5952 form, without a zone. An IPv4 address mapped into IPv6 (RFC 4291, 2.5.5.2)
 * becomes IPv4.
 */
export const canonicalAddress = (address: string): string =>
  ipaddr.process(address.replace(/%.*$/, '')).toString()
