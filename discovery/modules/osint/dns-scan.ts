import * as z from 'zod'
import { DomainName } from '../../fields/domain-name.ts'
import { defineLookup } from '../../module.ts'

const Name = z.string().max(255)
const Text = z.string().max(4096)

export const DnsFinding = z.strictObject({
  severity: z.enum(['info', 'low', 'medium', 'high']),
  code: z.string().max(64),
  message: z.string().max(500),
})
export type DnsFinding = z.infer<typeof DnsFinding>

export const DnsScan = z.strictObject({
  domain: Name,
  exists: z.boolean(),
  records: z
    .array(
      z.strictObject({
        type: z.string().max(16),
        name: Name,
        ttl_s: z.int().nullable(),
        value: Text.nullable().describe('Null for an address that is not of the internet.'),
        priority: z.int().nullable(),
        scope: z
          .enum(['global', 'private', 'reserved'])
          .nullable()
          .describe('Part of the address space of an A or AAAA record.'),
      }),
    )
    .max(500),
  nameservers: z.array(Name).max(32),
  mail: z.strictObject({
    mx: z.array(z.strictObject({ host: Name, priority: z.int() })).max(32),
    spf: z.strictObject({
      record: Text.nullable(),
      valid: z.boolean(),
      lookups: z.int().describe('DNS lookups of the record; more than 10 make it invalid.'),
      policy: z.enum(['fail', 'softfail', 'neutral', 'pass']).nullable(),
    }),
    dmarc: z.strictObject({
      record: Text.nullable(),
      policy: z.enum(['none', 'quarantine', 'reject']).nullable(),
      percent: z.int().min(0).max(100),
    }),
    dkim: z
      .array(
        z.strictObject({
          selector: z.string().max(63),
          key_type: z.string().max(16),
          bits: z.int().nullable(),
        }),
      )
      .max(64),
    mta_sts: z.boolean(),
    tls_rpt: z.boolean(),
  }),
  dnssec: z.strictObject({
    signed: z.boolean(),
    ds: z.int(),
    validated: z.boolean().nullable().describe('By the resolver; null for one that says nothing.'),
  }),
  caa: z.array(z.strictObject({ flags: z.int(), tag: z.string().max(64), value: Text })).max(32),
  wildcard: z.boolean().describe('True when any name below the domain has an address.'),
  findings: z.array(DnsFinding).max(64),
})
export type DnsScan = z.infer<typeof DnsScan>

export default defineLookup({
  id: 'dns-scan',
  name: 'DNS scan',
  description: 'Read the DNS records of a domain and check its mail, CAA and DNSSEC set-up.',
  tags: ['osint', 'domains', 'dns', 'mail'],
  access: 'key',
  reach: 'internet',
  input: z.strictObject({ domain: DomainName.describe('Domain to look at.') }),
  examples: [{ domain: 'example.org' }],
  deadlineSeconds: 40,
  data: DnsScan,
})
