import * as z from 'zod'
import { countDaysUntil, readUtcTime } from '../../../fields/utc-time.ts'
import type { CtCertificate } from '../../../modules/osint/ct-log-search.ts'
import { readOrganisation } from './read-organisation.ts'

const Issuance = z.object({
  id: z.string(),
  dns_names: z.array(z.string()),
  issuer: z.object({ friendly_name: z.string().nullish(), name: z.string().nullish() }).nullish(),
  not_before: z.string(),
  not_after: z.string(),
})

const MAX_NAMES = 200

/** Certificates of one page; `lastId` is where the next page begins, undefined after the last one. */
export const readCertspotter = (
  body: unknown,
  nowMs: number,
): { certificates: CtCertificate[]; unparsed: number; lastId: string | undefined } => {
  const rows = z.array(z.unknown()).parse(body)
  const read = rows.map(row => Issuance.safeParse(row)).filter(({ success }) => success)
  const issuances = read.flatMap(({ data }) => data ?? [])
  const certificates = issuances.flatMap(one => toCertificate(one, nowMs) ?? [])
  return {
    certificates,
    unparsed: rows.length - certificates.length,
    lastId: issuances.at(-1)?.id,
  }
}

const toCertificate = (
  { id, dns_names, issuer, ...row }: z.infer<typeof Issuance>,
  nowMs: number,
): CtCertificate | undefined => {
  const [notBefore, notAfter] = [readUtcTime(row.not_before), readUtcTime(row.not_after)]
  if (notBefore === null || notAfter === null) return undefined
  const name = issuer?.name ?? issuer?.friendly_name ?? 'unknown'
  return {
    id: id.slice(0, 64),
    issuer: name.slice(0, 512),
    issuer_org: issuer?.friendly_name?.slice(0, 256) ?? readOrganisation(name),
    common_name: null,
    dns_names: dns_names
      .map(each => each.toLowerCase())
      .filter(each => each.length <= 253)
      .slice(0, MAX_NAMES),
    serial: null,
    not_before: notBefore,
    not_after: notAfter,
    logged_at: null,
    expired: Date.parse(notAfter) < nowMs,
    days_left: countDaysUntil(notAfter, nowMs),
  }
}
