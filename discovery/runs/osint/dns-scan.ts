import { randomBytes } from 'node:crypto'
import type { Answer, RecordType } from 'dns-packet'
import { ShoalError } from '../../../shared/errors.ts'
import { normaliseDomain } from '../../fields/domain-name.ts'
import type { LookupContext, LookupRun } from '../../lookup-run.ts'
import type { DnsScan } from '../../modules/osint/dns-scan.ts'
import { UpstreamError } from '../../upstreams/client.ts'
import { readNames, readTexts } from '../../upstreams/dns-records.ts'
import type { DnsAnswer } from '../../upstreams/dns-resolver.ts'
import { checkSpf } from './dns/check-spf.ts'
import { findWeaknesses } from './dns/find-weaknesses.ts'
import { readDkim, readDmarc } from './dns/read-mail.ts'
import { readRecord } from './dns/read-record.ts'

interface Input {
  domain: string
}

const APEX_TYPES = ['SOA', 'NS', 'A', 'AAAA', 'MX', 'TXT', 'CAA', 'DS', 'DNSKEY'] as const
const OTHERS = [
  ['www', 'A'],
  ['www', 'AAAA'],
  ['_dmarc', 'TXT'],
  ['_mta-sts', 'TXT'],
  ['_smtp._tls', 'TXT'],
  ['default._bimi', 'TXT'],
  ['_443._tcp', 'TLSA'],
] as const
const MAX_RECORDS = 500
/**
 * Names that resolvers answer from their own network (RFC 6303, RFC 6762, RFC 8375, ICANN `internal`):
 * hosts of the operator, which callers with any key must not learn of.
 */
const LOCAL_NAMES =
  /(^|\.)(localhost|local|localdomain|internal|intranet|lan|home|corp|private|home\.arpa|in-addr\.arpa|ip6\.arpa)$/

const scanDomain: LookupRun<Input, DnsScan> = async (input, context) => {
  const domain = normaliseDomain(input.domain)
  if (LOCAL_NAMES.test(domain))
    throw new ShoalError(
      'invalid_request',
      `${domain} is not a public name, and names of this network are not read`,
      { param: 'domain' },
    )
  const queries = new Queries(context)
  // the first answer says whether the other questions have any sense
  const { outcome } = await queries.ask(domain, 'SOA')
  if (outcome === 'no_name') return { ...toScan(domain), exists: false }
  const apex = await Promise.all(APEX_TYPES.map(type => queries.ask(domain, type)))
  const [, ns, , , mx, txt, , ds, dnskey] = apex as [DnsAnswer, ...DnsAnswer[]]
  const named = await Promise.all(
    OTHERS.map(([name, type]) => queries.ask(`${name}.${domain}`, type)),
  )
  const [, , dmarc, mtaSts, tlsRpt] = named
  const [spf, dkim, caa, wildcard] = await Promise.all([
    checkSpf(readTexts(txt ?? NOTHING), async name => readTexts(await queries.ask(name, 'TXT'))),
    findKeys(domain, queries, context),
    findCaa(domain, queries),
    hasWildcard(domain, queries),
  ])
  const scan = {
    ...toScan(domain),
    records: queries.listRecords().slice(0, MAX_RECORDS),
    nameservers: readNames(ns ?? NOTHING),
    mail: {
      mx: readExchanges(mx ?? NOTHING),
      spf,
      dmarc: readDmarc(readTexts(dmarc ?? NOTHING)),
      dkim,
      mta_sts: readTexts(mtaSts ?? NOTHING).some(text => /^v=STSv1\s*;/.test(text)),
      tls_rpt: readTexts(tlsRpt ?? NOTHING).some(text => /^v=TLSRPTv1\s*;/.test(text)),
    },
    dnssec: {
      signed: (ds?.outcome ?? 'nodata') === 'found',
      ds: ds?.answers.filter(({ type }) => type === 'DS').length ?? 0,
      validated: dnskey?.outcome === 'found' ? dnskey.isAuthentic : null,
    },
    caa,
    wildcard,
  }
  if (queries.failed > 0)
    context.warn('partial_result', `${queries.failed} queries were not answered`, 'dns')
  return { ...scan, findings: findWeaknesses(scan) }
}
export default scanDomain

const NOTHING: DnsAnswer = { outcome: 'nodata', answers: [], isAuthentic: false }

/** Asks each question once; one that is not answered counts as no data. */
class Queries {
  failed = 0
  readonly #context: LookupContext
  readonly #asked = new Map<string, Promise<DnsAnswer>>()
  readonly #answers: Answer[] = []

  constructor(context: LookupContext) {
    this.#context = context
  }

  ask(name: string, type: RecordType): Promise<DnsAnswer> {
    const key = `${type} ${name}`
    const known = this.#asked.get(key)
    if (known !== undefined) return known
    const asked = this.#ask(name, type)
    this.#asked.set(key, asked)
    return asked
  }

  listRecords(): DnsScan['records'] {
    const records = this.#answers.flatMap(answer =>
      answer.type === 'RRSIG' ? [] : (readRecord(answer) ?? []),
    )
    if (records.some(({ value }) => value === null))
      this.#context.warn('partial_result', 'addresses of private networks are omitted', 'dns')
    return records
  }

  async #ask(name: string, type: RecordType): Promise<DnsAnswer> {
    const { resolver, signal } = this.#context
    try {
      const found = await resolver.resolve(name, type, signal)
      this.#answers.push(...found.answers)
      return found
    } catch (error) {
      // without an answer for the domain itself there is nothing to report
      if (!(error instanceof UpstreamError) || this.#asked.size === 1) throw error
      this.failed++
      return NOTHING
    }
  }
}

const toScan = (domain: string): DnsScan => ({
  domain,
  exists: true,
  records: [],
  nameservers: [],
  mail: {
    mx: [],
    spf: { record: null, valid: false, lookups: 0, policy: null },
    dmarc: { record: null, policy: null, percent: 0 },
    dkim: [],
    mta_sts: false,
    tls_rpt: false,
  },
  dnssec: { signed: false, ds: 0, validated: null },
  caa: [],
  wildcard: false,
  findings: [],
})

/** A null MX, `0 .`, says that the domain receives no mail (RFC 7505). */
const readExchanges = ({ answers }: DnsAnswer): DnsScan['mail']['mx'] =>
  answers
    .flatMap(answer => (answer.type === 'MX' ? [answer.data] : []))
    .map(({ exchange, preference = 0 }) => ({
      host: exchange.toLowerCase().replace(/\.$/, '').slice(0, 255),
      priority: preference,
    }))
    .filter(({ host }) => host !== '')
    .sort((a, b) => a.priority - b.priority)
    .slice(0, 32)

const findKeys = async (
  domain: string,
  queries: Queries,
  { settings }: LookupContext,
): Promise<DnsScan['mail']['dkim']> => {
  const selectors = settings.option('dns', 'dkim_selectors') as readonly string[] | undefined
  const found = await Promise.all(
    (selectors ?? []).map(async selector => {
      const answer = await queries.ask(`${selector}._domainkey.${domain}`, 'TXT')
      return readDkim(selector, readTexts(answer))
    }),
  )
  return found.flatMap(key => key ?? [])
}

/** The closest CAA set on the way up counts (RFC 8659, 3). */
const findCaa = async (domain: string, queries: Queries): Promise<DnsScan['caa']> => {
  const labels = domain.split('.')
  for (let at = 0; at < labels.length - 1; at++) {
    const { answers } = await queries.ask(labels.slice(at).join('.'), 'CAA')
    const found = answers.flatMap(answer => (answer.type === 'CAA' ? [answer.data] : []))
    if (found.length > 0)
      return found.slice(0, 32).map(({ flags = 0, tag, value }) => ({
        flags,
        tag: tag.slice(0, 64),
        value: value.slice(0, 4096),
      }))
  }
  return []
}

const hasWildcard = async (domain: string, queries: Queries): Promise<boolean> => {
  const { outcome } = await queries.ask(`${randomBytes(8).toString('hex')}.${domain}`, 'A')
  return outcome === 'found'
}
