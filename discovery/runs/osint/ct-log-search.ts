import { getDomain } from 'tldts'
import { normaliseDomain } from '../../fields/domain-name.ts'
import type { LookupContext, LookupRun } from '../../lookup-run.ts'
import type { CtCertificate, CtSearch } from '../../modules/osint/ct-log-search.ts'
import { UpstreamError } from '../../upstreams/client.ts'
import certspotter from '../../upstreams/sources/certspotter.ts'
import crtsh from '../../upstreams/sources/crtsh.ts'
import { readAnswer } from '../../upstreams/try-sources.ts'
import { readCertspotter } from './ct-log/read-certspotter.ts'
import { type readCrtsh, readingOfCrtsh } from './ct-log/read-crtsh.ts'
import { summariseCertificates } from './ct-log/summarise-certificates.ts'

interface Input {
  domain: string
}

/** Pages of the second source; each has about a hundred certificates. */
const MAX_PAGES = 5

const searchLogs: LookupRun<Input, CtSearch> = async (input, context) => {
  const domain = normaliseDomain(input.domain)
  const certificates = await askCrtsh(domain, context).catch(error => {
    if (!(error instanceof UpstreamError) || context.signal.aborted) throw error
    context.warn('fallback_used', `${error.message}; asked ${certspotter.name} instead`, crtsh.name)
    return askCertspotter(domain, context)
  })
  return summariseCertificates(domain, certificates)
}
export default searchLogs

/** Asks for all certificates, and for the valid ones alone where the database takes too long. */
const askCrtsh = async (domain: string, context: LookupContext): Promise<CtCertificate[]> => {
  try {
    return await queryCrtsh(domain, {}, context)
  } catch (error) {
    const isOverloaded =
      error instanceof UpstreamError && ['timed_out', 'failed', 'malformed'].includes(error.failure)
    if (!isOverloaded) throw error
    const found = await queryCrtsh(domain, { exclude: 'expired' }, context)
    context.warn('partial_result', 'expired certificates are omitted', crtsh.name)
    return found
  }
}

const queryCrtsh = async (
  domain: string,
  filter: Record<string, string>,
  context: LookupContext,
): Promise<CtCertificate[]> => {
  const query = { q: `%.${domain}`, output: 'json', deduplicate: 'Y', ...filter }
  const { status, body } = await context.ask({
    source: crtsh,
    path: '/',
    query,
    accepts: [404],
    form: 'json',
    reading: readingOfCrtsh(context.now()),
  })
  if (status === 404) return []
  const { certificates, unparsed } = body as ReturnType<typeof readCrtsh>
  warnOfUnparsed(unparsed, crtsh.name, context)
  return certificates
}

/** The source takes registered domains only, so that a subdomain is filtered afterwards. */
const askCertspotter = async (domain: string, context: LookupContext): Promise<CtCertificate[]> => {
  const found: CtCertificate[] = []
  let after: string | undefined
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const { body } = await context.ask({
      source: certspotter,
      path: '/v1/issuances',
      query: {
        domain: getDomain(domain) ?? domain,
        include_subdomains: 'true',
        expand: ['dns_names', 'issuer'],
        ...(after === undefined ? {} : { after }),
      },
      form: 'json',
    })
    const page = readAnswer(certspotter, () => readCertspotter(body, context.now()))
    const { certificates, unparsed, lastId } = page
    warnOfUnparsed(unparsed, certspotter.name, context)
    found.push(...certificates)
    if (lastId === undefined) return found.filter(one => concerns(one, domain))
    after = lastId
  }
  context.warn('partial_result', `only the first ${MAX_PAGES} pages were read`, certspotter.name)
  return found.filter(one => concerns(one, domain))
}

const concerns = ({ dns_names: names }: CtCertificate, domain: string): boolean =>
  names.some(name => name === domain || name.endsWith(`.${domain}`))

const warnOfUnparsed = (count: number, source: string, { warn }: LookupContext): void => {
  if (count > 0) warn('unparsed_record', `${count} certificates could not be read`, source)
}
