import { isIP } from 'node:net'
import * as z from 'zod'

/** Input field for an IPv4 or IPv6 address. */
export const IpAddress = z
  .string()
  .max(64)
  .refine(text => isIP(text) !== 0, 'must be an IPv4 or IPv6 address')
