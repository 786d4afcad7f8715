import { getDomain } from 'tldts'
import { normaliseDomain } from '../../fields/domain-name.ts'
import { countDaysUntil } from '../../fields/utc-time.ts'
import type { LookupContext, LookupRun } from '../../lookup-run.ts'
import type { Whois } from '../../modules/osint/whois-lookup.ts'
import { UpstreamError } from '../../upstreams/client.ts'
import rdap from '../../upstreams/sources/rdap.ts'
import rdapBootstrap from '../../upstreams/sources/rdap-bootstrap.ts'
import whois from '../../upstreams/sources/whois.ts'
import { readAnswer } from '../../upstreams/try-sources.ts'
import { findRdapServer } from './whois/read-bootstrap.ts'
import { type Registration, readRdap } from './whois/read-rdap.ts'
import { findReferral, readWhois } from './whois/read-whois.ts'

interface Input {
  domain: string
}

/** Servers that are asked one after the other: IANA, the registry, the registrar. */
const MAX_HOPS = 3
const RDAP_JSON = { accept: 'application/rdap+json' }

const lookUpRegistration: LookupRun<Input, Whois> = async (input, context) => {
  const typed = normaliseDomain(input.domain)
  const domain = getDomain(typed) ?? typed
  try {
    const found = await askRdap(domain, context)
    if (found !== undefined) return found
  } catch (error) {
    if (!(error instanceof UpstreamError) || context.signal.aborted) throw error
    context.warn('fallback_used', `${error.message}; asked WHOIS instead`, rdap.name)
  }
  return askWhois(domain, context)
}
export default lookUpRegistration

/** Undefined where the bootstrap names no server for the top-level domain. */
const askRdap = async (domain: string, context: LookupContext): Promise<Whois | undefined> => {
  const server = await findServer(domain, context)
  if (server === undefined) return undefined
  const { status, body } = await context.ask({
    source: rdap,
    ...(server === CONFIGURED ? {} : { baseUrl: server }),
    path: `/domain/${domain}`,
    accepts: [404],
    headers: RDAP_JSON,
    form: 'json',
  })
  const host = server === CONFIGURED ? rdap.name : new URL(server).host
  if (status === 404) return toWhois(domain, { method: 'rdap', server: host }, undefined, context)
  const { found, related } = readAnswer(rdap, () => readRdap(body))
  const details = related === undefined ? undefined : await askRegistrar(related, context)
  return toWhois(domain, { method: 'rdap', server: host }, merge(found, details), context)
}

const CONFIGURED = 'configured'

const findServer = async (domain: string, context: LookupContext): Promise<string | undefined> => {
  if (context.settings.hasOwnUrl(rdap.id)) return CONFIGURED
  const { body } = await context.ask({ source: rdapBootstrap, path: '/dns.json', form: 'json' })
  return readAnswer(rdapBootstrap, () => findRdapServer(body, domain))
}

/** The record of the registrar has more; without it that of the registry stands. */
const askRegistrar = async (
  url: string,
  context: LookupContext,
): Promise<Registration | undefined> => {
  try {
    const { origin, pathname } = new URL(url)
    const request = { source: rdap, baseUrl: origin, path: pathname, headers: RDAP_JSON }
    const { body } = await context.ask({ ...request, form: 'json' })
    return readAnswer(rdap, () => readRdap(body)).found
  } catch (error) {
    context.signal.throwIfAborted()
    context.warn('partial_result', `the registrar gave no record: ${(error as Error).message}`)
    return undefined
  }
}

const merge = (registry: Registration, registrar: Registration | undefined): Registration => {
  if (registrar === undefined) return registry
  const missing = Object.entries(registrar).filter(
    ([key]) => registry[key as keyof Registration] === null,
  )
  return { ...registry, ...Object.fromEntries(missing) }
}

/** Follows referrals from IANA on; each hop that knows more wins. */
const askWhois = async (domain: string, context: LookupContext): Promise<Whois> => {
  let server: string | undefined
  let last = { server: 'whois.iana.org', found: undefined as Registration | undefined }
  for (let hop = 0; hop < MAX_HOPS; hop++) {
    const { body } = await context.ask({
      source: whois,
      ...(server === undefined ? {} : { baseUrl: `whois://${server}:43` }),
      path: `/${encodeURIComponent(writeQuery(server, domain))}`,
      form: 'text',
    })
    const text = String(body)
    // the answer of IANA is about the top-level domain
    if (server !== undefined || context.settings.hasOwnUrl(whois.id))
      last = { server: server ?? whois.name, found: readWhois(text) ?? last.found }
    const next = findReferral(text)
    if (next === undefined || next === server) break
    server = next
  }
  return toWhois(domain, { method: 'whois', server: last.server }, last.found, context)
}

/** Servers that want more than the name: those of DENIC and Verisign. */
const writeQuery = (server: string | undefined, domain: string): string => {
  if (server === 'whois.denic.de') return `-T dn ${domain}`
  if (server?.endsWith('verisign-grs.com')) return `domain ${domain}`
  return domain
}

const toWhois = (
  domain: string,
  by: Pick<Whois, 'method' | 'server'>,
  found: Registration | undefined,
  { now }: LookupContext,
): Whois => ({
  domain,
  registered: found !== undefined,
  ...by,
  ...(found ?? UNREGISTERED),
  days_to_expiry: found?.expires_at ? countDaysUntil(found.expires_at, now()) : null,
})

const UNREGISTERED: Registration = {
  registrar: null,
  registrar_iana_id: null,
  created_at: null,
  updated_at: null,
  expires_at: null,
  status: [],
  nameservers: [],
  dnssec: null,
  registrant_org: null,
  registrant_country: null,
  abuse_email: null,
}
