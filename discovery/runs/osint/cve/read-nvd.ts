import * as z from 'zod'
import type { CveHit, CveSeverity } from '../../../fields/cve-hit.ts'
import { readUtcTime } from '../../../fields/utc-time.ts'
import { Configuration, listAffected } from './configurations.ts'

/** Rating in the form of CVSS 3 and 4; that of version 2 has its severity beside the data. */
const Metric = z.object({
  source: z.string().nullish(),
  type: z.string().nullish(),
  baseSeverity: z.string().nullish(),
  cvssData: z.object({
    version: z.string(),
    vectorString: z.string(),
    baseScore: z.number(),
    baseSeverity: z.string().nullish(),
  }),
})
type Metric = z.infer<typeof Metric>

const Cve = z.object({
  id: z.string(),
  published: z.string().nullish(),
  lastModified: z.string().nullish(),
  vulnStatus: z.string().nullish(),
  cisaExploitAdd: z.string().nullish(),
  cisaActionDue: z.string().nullish(),
  cisaRequiredAction: z.string().nullish(),
  cisaVulnerabilityName: z.string().nullish(),
  descriptions: z.array(z.object({ lang: z.string(), value: z.string() })).nullish(),
  metrics: z.record(z.string(), z.array(z.unknown())).nullish(),
  weaknesses: z
    .array(z.object({ description: z.array(z.object({ lang: z.string(), value: z.string() })) }))
    .nullish(),
  configurations: z.array(Configuration).nullish(),
  references: z.array(z.object({ url: z.string(), tags: z.array(z.string()).nullish() })).nullish(),
})
type Cve = z.infer<typeof Cve>

const Page = z.object({
  totalResults: z.int(),
  vulnerabilities: z.array(z.object({ cve: z.unknown() })),
})

/** A record with the conditions under which it applies. */
export interface NvdRecord {
  hit: CveHit
  configurations: readonly Configuration[]
}

export interface NvdPage {
  total: number
  records: NvdRecord[]
  unparsed: number
}

/** A page has several megabytes, which are reduced off the event loop. */
export const NVD_READING = {
  reader: { module: import.meta.url, name: 'readNvdPage' },
  limits: { maxValues: 800_000 },
}

export const readNvdPage = (body: unknown): NvdPage => {
  const { totalResults, vulnerabilities } = Page.parse(body)
  const records = vulnerabilities.flatMap(({ cve }) => {
    const read = Cve.safeParse(cve)
    return read.success ? [toRecord(read.data)] : []
  })
  return { total: totalResults, records, unparsed: vulnerabilities.length - records.length }
}

const toRecord = (cve: Cve): NvdRecord => {
  const configurations = cve.configurations ?? []
  const metric = chooseMetric(cve.metrics ?? {})
  const affected = listAffected(configurations)
  return {
    configurations,
    hit: {
      id: cve.id.slice(0, 64),
      title: cve.cisaVulnerabilityName?.slice(0, 512) ?? null,
      description: readText(cve.descriptions ?? []).slice(0, 8192),
      published_at: readUtcTime(cve.published),
      modified_at: readUtcTime(cve.lastModified),
      status: cve.vulnStatus?.slice(0, 64) ?? null,
      severity: readSeverity(metric),
      cvss: toCvss(metric),
      epss: null,
      kev: toKev(cve),
      cwes: (cve.weaknesses ?? [])
        .flatMap(({ description }) => description.map(({ value }) => value.slice(0, 32)))
        .filter(value => value.startsWith('CWE-'))
        .slice(0, 32),
      affected: affected.slice(0, 64).map(({ vendor, product, range }) => ({
        vendor,
        product,
        version_range: range,
      })),
      fixed_in: affected.find(({ fixedIn }) => fixedIn !== null)?.fixedIn ?? null,
      references: (cve.references ?? []).slice(0, 32).map(({ url, tags }) => ({
        url: url.slice(0, 2048),
        tags: (tags ?? []).slice(0, 16).map(tag => tag.slice(0, 64)),
      })),
      sources: ['nvd'],
    },
  }
}

const readText = (texts: readonly { lang: string; value: string }[]): string =>
  (texts.find(({ lang }) => lang === 'en') ?? texts[0])?.value ?? ''

const METRICS = ['cvssMetricV40', 'cvssMetricV31', 'cvssMetricV30', 'cvssMetricV2']

/** The newest version of the score counts, and that of the database itself before others. */
const chooseMetric = (metrics: Readonly<Record<string, unknown[]>>): Metric | undefined => {
  for (const name of METRICS) {
    const read = (metrics[name] ?? []).flatMap(each => Metric.safeParse(each).data ?? [])
    const [first] = read.toSorted((a, b) => rankOf(a) - rankOf(b))
    if (first !== undefined) return first
  }
  return undefined
}

const rankOf = ({ type }: Metric): number => (type === 'Primary' ? 0 : 1)

const SEVERITIES: Readonly<Record<string, CveSeverity>> = {
  critical: 'critical',
  high: 'high',
  medium: 'medium',
  low: 'low',
  none: 'none',
}

const readSeverity = (metric: Metric | undefined): CveSeverity =>
  SEVERITIES[(metric?.cvssData.baseSeverity ?? metric?.baseSeverity ?? '').toLowerCase()] ??
  'unknown'

const toCvss = (metric: Metric | undefined): CveHit['cvss'] => {
  if (metric === undefined) return null
  const { version, baseScore, vectorString } = metric.cvssData
  return {
    version: version.slice(0, 8),
    score: Math.min(10, Math.max(0, baseScore)),
    vector: vectorString.slice(0, 256),
    source: (metric.source ?? 'unknown').slice(0, 256),
  }
}

const toKev = (cve: Cve): CveHit['kev'] =>
  cve.cisaExploitAdd
    ? {
        added_on: cve.cisaExploitAdd.slice(0, 32),
        due_on: (cve.cisaActionDue ?? '').slice(0, 32),
        // the NVD copies the date and the action only
        ransomware: null,
        action: (cve.cisaRequiredAction ?? '').slice(0, 2048),
      }
    : null
