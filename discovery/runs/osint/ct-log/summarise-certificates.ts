import type { CtCertificate, CtSearch } from '../../../modules/osint/ct-log-search.ts'

const MAX_CERTIFICATES = 500
const MAX_NAMES = 5000
const MAX_WILDCARDS = 1000
const MAX_ISSUERS = 100

/** What the certificates of a domain say together; the newest ones are listed. */
export const summariseCertificates = (
  domain: string,
  certificates: readonly CtCertificate[],
): CtSearch => {
  const ordered = certificates.toSorted((a, b) => (a.not_before < b.not_before ? 1 : -1))
  const all = [...new Set(ordered.flatMap(({ dns_names: names }) => names))]
    .filter(name => name === domain || name.endsWith(`.${domain}`))
    .sort()
  const [wildcards, names] = [all.filter(isWildcard), all.filter(name => !isWildcard(name))]
  return {
    domain,
    names: names.slice(0, MAX_NAMES),
    wildcard_names: wildcards.slice(0, MAX_WILDCARDS),
    certificates: ordered.slice(0, MAX_CERTIFICATES),
    total: ordered.length,
    truncated:
      ordered.length > MAX_CERTIFICATES ||
      names.length > MAX_NAMES ||
      wildcards.length > MAX_WILDCARDS,
    issuers: countIssuers(ordered).slice(0, MAX_ISSUERS),
  }
}

const isWildcard = (name: string): boolean => name.startsWith('*.')

const countIssuers = (certificates: readonly CtCertificate[]): CtSearch['issuers'] =>
  [...Map.groupBy(certificates, ({ issuer }) => issuer)]
    .map(([name, { length: count }]) => ({ name, count }))
    .sort((a, b) => b.count - a.count)
