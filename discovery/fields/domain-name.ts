import { domainToASCII } from 'node:url'
import * as z from 'zod'

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/

/** True for a DNS name of at least two labels in its ASCII form (RFC 1035, 2.3.4; RFC 5890). */
export const isDomainName = (text: string): boolean => {
  const labels = text.split('.')
  return text.length <= 253 && labels.length >= 2 && labels.every(label => LABEL.test(label))
}

/** Normal form of a domain that somebody typed: lower case, ASCII, without the last dot. */
export const normaliseDomain = (text: string): string =>
  domainToASCII(text.trim().toLowerCase().replace(/\.$/, ''))

/** Input field for a domain as people type it; programs use its normal form. */
export const DomainName = z
  .string()
  .min(1)
  .max(253)
  .refine(text => isDomainName(normaliseDomain(text)), 'must be a domain name such as example.org')
