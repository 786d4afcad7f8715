import * as z from 'zod'
import { IpAddress } from '../../fields/ip-address.ts'
import { defineLookup } from '../../module.ts'

const Text = z.string().max(256)

export const IpAsn = z.strictObject({
  ip: z.string().max(64),
  family: z.union([z.literal(4), z.literal(6)]),
  scope: z.enum(['global', 'private', 'reserved']).describe('Only global addresses are looked up.'),
  announced: z.boolean().describe('True when a network announces it to the internet.'),
  prefix: z.string().max(64).nullable().describe('The most specific prefix announced.'),
  asns: z
    .array(
      z.strictObject({
        asn: z.int(),
        name: Text.nullable(),
        registry_country: z
          .string()
          .max(8)
          .nullable()
          .describe('Country of the registration; it is not where the address is.'),
        registry: z.string().max(32).nullable(),
        allocated_on: z.iso.date().nullable(),
      }),
    )
    .max(16),
  abuse_contacts: z.array(Text).max(16),
  reverse_dns: z.array(z.string().max(253)).max(16),
})
export type IpAsn = z.infer<typeof IpAsn>

export default defineLookup({
  id: 'ip-to-asn',
  name: 'IP to ASN',
  description: 'Find the network, autonomous system and abuse contact of an IP address.',
  tags: ['osint', 'network', 'asn'],
  access: 'key',
  reach: 'internet',
  input: z.strictObject({
    ip: IpAddress.describe('IPv4 or IPv6 address.'),
  }),
  examples: [{ ip: '193.0.6.139' }],
  deadlineSeconds: 20,
  data: IpAsn,
})
