import type { DnsFinding, DnsScan } from '../../../modules/osint/dns-scan.ts'
import { MAX_SPF_LOOKUPS } from './check-spf.ts'

type Scanned = Omit<DnsScan, 'findings'>

/** Conditions that are worth a word, the worst ones first. */
const RULES: readonly (DnsFinding & { applies: (scan: Scanned) => boolean })[] = [
  {
    severity: 'high',
    code: 'spf_allows_all',
    message: 'the SPF record lets every server send for the domain (+all)',
    applies: ({ mail }) => mail.spf.policy === 'pass',
  },
  {
    severity: 'medium',
    code: 'split_horizon',
    message:
      'a name has an address that is not of the internet: the resolver answers for its own network, or the domain publishes private addresses',
    applies: ({ records }) =>
      records.some(({ scope }) => scope === 'private' || scope === 'reserved'),
  },
  {
    severity: 'medium',
    code: 'spf_too_many_lookups',
    message: `the SPF record needs more than ${MAX_SPF_LOOKUPS} lookups, so that receivers ignore it (RFC 7208)`,
    applies: ({ mail }) => mail.spf.lookups > MAX_SPF_LOOKUPS,
  },
  {
    severity: 'medium',
    code: 'spf_not_unique',
    message: 'the domain has several SPF records, so that receivers ignore them (RFC 7208)',
    applies: ({ mail }) =>
      mail.spf.record !== null && !mail.spf.valid && mail.spf.lookups <= MAX_SPF_LOOKUPS,
  },
  {
    severity: 'medium',
    code: 'spf_missing',
    message: 'the domain receives mail and has no SPF record',
    applies: ({ mail }) => mail.mx.length > 0 && mail.spf.record === null,
  },
  {
    severity: 'medium',
    code: 'dmarc_missing',
    message: 'there is no DMARC record at _dmarc',
    applies: ({ mail }) => mail.dmarc.record === null,
  },
  {
    severity: 'low',
    code: 'dmarc_not_enforced',
    message: 'the DMARC policy is none: forged mail is delivered',
    applies: ({ mail }) => mail.dmarc.policy === 'none',
  },
  {
    severity: 'medium',
    code: 'dkim_key_short',
    message: 'an RSA key of DKIM has fewer than 1,024 bits (RFC 8301)',
    applies: ({ mail }) =>
      mail.dkim.some(({ key_type, bits }) => key_type === 'rsa' && bits !== null && bits < 1024),
  },
  {
    severity: 'low',
    code: 'caa_missing',
    message: 'there is no CAA record: any authority may issue certificates for the domain',
    applies: ({ caa }) => caa.length === 0,
  },
  {
    severity: 'low',
    code: 'dnssec_missing',
    message: 'the domain is not signed with DNSSEC',
    applies: ({ dnssec }) => !dnssec.signed,
  },
  {
    severity: 'low',
    code: 'one_nameserver',
    message: 'the domain has fewer than two name servers (RFC 2182)',
    applies: ({ nameservers }) => nameservers.length === 1,
  },
  {
    severity: 'info',
    code: 'wildcard',
    message: 'every name below the domain has an address',
    applies: ({ wildcard }) => wildcard,
  },
]

export const findWeaknesses = (scan: Scanned): DnsFinding[] =>
  scan.exists
    ? RULES.filter(({ applies }) => applies(scan)).map(({ severity, code, message }) => ({
        severity,
        code,
        message,
      }))
    : []
