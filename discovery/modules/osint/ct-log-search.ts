import * as z from 'zod'
import { DomainName } from '../../fields/domain-name.ts'
import { defineLookup } from '../../module.ts'

const Name = z.string().max(253)

export const CtCertificate = z.strictObject({
  id: z.string().max(64).describe('Id at the source.'),
  issuer: z.string().max(512),
  issuer_org: z.string().max(256).nullable(),
  common_name: z.string().max(256).nullable(),
  dns_names: z.array(Name).max(200),
  serial: z.string().max(64).nullable(),
  not_before: z.iso.datetime(),
  not_after: z.iso.datetime(),
  logged_at: z.iso.datetime().nullable(),
  expired: z.boolean(),
  days_left: z.int().describe('Whole days until the end; negative once it has passed.'),
})
export type CtCertificate = z.infer<typeof CtCertificate>

export const CtSearch = z.strictObject({
  domain: Name,
  names: z.array(Name).max(5000).describe('Host names in certificates, without wildcards.'),
  wildcard_names: z.array(z.string().max(255)).max(1000),
  certificates: z.array(CtCertificate).max(500).describe('Newest first.'),
  total: z.int().describe('Certificates that were found.'),
  truncated: z.boolean().describe('True when more was found than is listed.'),
  issuers: z.array(z.strictObject({ name: z.string().max(512), count: z.int() })).max(100),
})
export type CtSearch = z.infer<typeof CtSearch>

export default defineLookup({
  id: 'ct-log-search',
  name: 'Certificate transparency search',
  description: 'List certificates and host names of a domain from Certificate Transparency logs.',
  tags: ['osint', 'certificates', 'domains'],
  access: 'key',
  reach: 'internet',
  input: z.strictObject({ domain: DomainName.describe('Domain, with its subdomains.') }),
  examples: [{ domain: 'example.org' }],
  deadlineSeconds: 75,
  data: CtSearch,
})
