import * as z from 'zod'
import { isDomainName } from '../../../fields/domain-name.ts'
import { countDaysUntil, readUtcTime } from '../../../fields/utc-time.ts'
import type { CtCertificate } from '../../../modules/osint/ct-log-search.ts'
import { readOrganisation } from './read-organisation.ts'

/** Row of crt.sh; a precertificate and its certificate are two rows with the same serial. */
const Row = z.object({
  id: z.union([z.number(), z.string()]),
  issuer_name: z.string(),
  common_name: z.string().nullish(),
  name_value: z.string().nullish(),
  entry_timestamp: z.string().nullish(),
  not_before: z.string(),
  not_after: z.string(),
  serial_number: z.string().nullish(),
})

const MAX_NAMES = 200
const MAX_VALUES = 400_000

/** A large domain has an answer of many megabytes, which is reduced off the event loop. */
export const readingOfCrtsh = (nowMs: number) => ({
  reader: { module: import.meta.url, name: 'readCrtsh', input: nowMs },
  limits: { maxValues: MAX_VALUES },
})

/** Certificates of an answer, one for each serial of an issuer. */
export const readCrtsh = (
  body: unknown,
  nowMs: number,
): { certificates: CtCertificate[]; unparsed: number } => {
  const rows = z.array(z.unknown()).parse(body)
  const found = new Map<string, CtCertificate>()
  let unparsed = 0
  for (const each of rows) {
    const row = Row.safeParse(each)
    const certificate = row.success ? toCertificate(row.data, nowMs) : undefined
    if (certificate === undefined) unparsed++
    else {
      const key = `${certificate.issuer} ${certificate.serial ?? certificate.id}`
      if (!found.has(key)) found.set(key, certificate)
    }
  }
  return { certificates: [...found.values()], unparsed }
}

const toCertificate = (row: z.infer<typeof Row>, nowMs: number): CtCertificate | undefined => {
  const [notBefore, notAfter] = [readUtcTime(row.not_before), readUtcTime(row.not_after)]
  if (notBefore === null || notAfter === null) return undefined
  // a common name may be that of a company, and names may be addresses and e-mails
  const names = [row.common_name ?? '', ...(row.name_value ?? '').split('\n')]
    .map(name => name.trim().toLowerCase())
    .filter(name => isDomainName(name.replace(/^\*\./, '')))
  return {
    id: String(row.id).slice(0, 64),
    issuer: row.issuer_name.slice(0, 512),
    issuer_org: readOrganisation(row.issuer_name),
    common_name: row.common_name?.slice(0, 256) ?? null,
    dns_names: [...new Set(names)].slice(0, MAX_NAMES),
    serial: row.serial_number?.slice(0, 64) ?? null,
    not_before: notBefore,
    not_after: notAfter,
    logged_at: readUtcTime(row.entry_timestamp),
    expired: Date.parse(notAfter) < nowMs,
    days_left: countDaysUntil(notAfter, nowMs),
  }
}
