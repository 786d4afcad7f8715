import * as z from 'zod'
import { DomainName } from '../../fields/domain-name.ts'
import { defineLookup } from '../../module.ts'

const Text = z.string().max(256)

export const Whois = z.strictObject({
  domain: z.string().max(253).describe('The registrable domain that was looked up.'),
  registered: z.boolean(),
  method: z.enum(['rdap', 'whois']),
  server: z.string().max(253),
  registrar: Text.nullable(),
  registrar_iana_id: z.int().nullable(),
  created_at: z.iso.datetime().nullable(),
  updated_at: z.iso.datetime().nullable(),
  expires_at: z.iso.datetime().nullable(),
  days_to_expiry: z.int().nullable(),
  status: z.array(Text).max(32),
  nameservers: z.array(z.string().max(253)).max(32),
  dnssec: z.boolean().nullable(),
  registrant_org: Text.nullable().describe('Organisation; names of persons are omitted.'),
  registrant_country: z.string().max(64).nullable(),
  abuse_email: Text.nullable(),
})
export type Whois = z.infer<typeof Whois>

export default defineLookup({
  id: 'whois-lookup',
  name: 'Domain registration',
  description: 'Look up registrar, dates, status and name servers of a domain by RDAP or WHOIS.',
  tags: ['osint', 'domains', 'whois', 'rdap'],
  access: 'key',
  reach: 'internet',
  input: z.strictObject({
    domain: DomainName.describe('Domain; of a subdomain the registered domain is looked up.'),
  }),
  examples: [{ domain: 'example.org' }],
  deadlineSeconds: 40,
  data: Whois,
})
