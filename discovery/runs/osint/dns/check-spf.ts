import type { DnsScan } from '../../../modules/osint/dns-scan.ts'

type Spf = DnsScan['mail']['spf']

/** Lookups that a record may cause, those of included records counted (RFC 7208, 4.6.4). */
export const MAX_SPF_LOOKUPS = 10

const POLICIES = { '-': 'fail', '~': 'softfail', '?': 'neutral', '+': 'pass' } as const

const isSpf = (text: string): boolean => /^v=spf1(\s|$)/i.test(text)

/** Terms that cause a lookup, and the domain of those whose record counts too. */
const parseTerm = (term: string): { counts: boolean; next: string | undefined } => {
  const [, , name = '', value] = /^([-~?+]?)([a-z0-9]+)(?:[:=]([^/\s]+))?/i.exec(term) ?? []
  const mechanism = name.toLowerCase()
  const counts = ['include', 'a', 'mx', 'ptr', 'exists', 'redirect'].includes(mechanism)
  const next = mechanism === 'include' || mechanism === 'redirect' ? value : undefined
  return { counts, next: next?.includes('%') ? undefined : next }
}

/**
 * Checks the record of a domain with those that it includes.
 * @param readTexts reads the TXT records of a name; each call is one lookup
 */
export const checkSpf = async (
  texts: readonly string[],
  readTexts: (name: string) => Promise<string[]>,
): Promise<Spf> => {
  const records = texts.filter(isSpf)
  const [record] = records
  if (record === undefined) return { record: null, valid: false, lookups: 0, policy: null }
  const lookups = await countLookups(record, readTexts, MAX_SPF_LOOKUPS)
  const [, sign = '', hasAll] = /(?:^|\s)([-~?+]?)(all)(?:\s|$)/i.exec(record) ?? []
  const policy = hasAll === undefined ? null : (POLICIES[sign as keyof typeof POLICIES] ?? 'pass')
  return { record, valid: records.length === 1 && lookups <= MAX_SPF_LOOKUPS, lookups, policy }
}

/** Lookups of a record and of what it includes; counting ends soon after the bound. */
const countLookups = async (
  record: string,
  readTexts: (name: string) => Promise<string[]>,
  left: number,
): Promise<number> => {
  let count = 0
  for (const term of record.split(/\s+/).slice(1)) {
    const { counts, next } = parseTerm(term)
    if (counts) count++
    if (count > left) return count
    if (next === undefined) continue
    const [included] = (await readTexts(next)).filter(isSpf)
    if (included !== undefined) count += await countLookups(included, readTexts, left - count)
  }
  return count
}
