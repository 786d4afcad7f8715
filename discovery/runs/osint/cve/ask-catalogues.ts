import type { LookupContext } from '../../../lookup-run.ts'
import kev from '../../../upstreams/sources/kev.ts'
import nvd from '../../../upstreams/sources/nvd.ts'
import { toMissingPart } from '../../../upstreams/try-sources.ts'
import { KEV_READING, type KevEntry } from './read-kev.ts'
import { NVD_READING, type NvdPage, type NvdRecord } from './read-nvd.ts'

/** Query of the NVD. */
type Query = Readonly<Record<string, string>>

/** Records of one page; the NVD lists the oldest first. */
const PAGE = 200

/** Most pages of one query: at the rate without a key, they are read within the deadline. */
export const MAX_PAGES = 10

/** Pages with the oldest and the newest records, for a list of the newest. */
const LIST_PAGES = 2

interface NvdRecords {
  /** Number of records at the NVD. */
  total: number
  /** Records that were read, each once. */
  records: NvdRecord[]
  /** True when every record was read. */
  isComplete: boolean
}

/** True for a version of numbers only, whose order is the same to everybody. */
const isPlainVersion = (version: string | undefined): version is string =>
  version !== undefined && /^\d+(\.\d+)*$/.test(version)

/**
 * Records of a product. Of a product with more than can be read, those of the version are asked for.
 * Throws UpstreamError.
 */
export const askProductCves = async (
  cpe: string,
  version: string | undefined,
  context: LookupContext,
): Promise<NvdRecords> => {
  const query = { virtualMatchString: cpe }
  const first = await askPage(query, 0, context)
  if (first.total <= MAX_PAGES * PAGE || !isPlainVersion(version))
    return askOthers(query, first, MAX_PAGES, context)
  const from = { versionStart: version, versionStartType: 'including' }
  const to = { versionEnd: version, versionEndType: 'including' }
  return askCves({ ...query, ...from, ...to }, context)
}

/** Fetches the records of a query, only the newest if there are too many. Throws UpstreamError. */
export const askCves = async (
  query: Query,
  context: LookupContext,
  maxPages = MAX_PAGES,
): Promise<NvdRecords> => askOthers(query, await askPage(query, 0, context), maxPages, context)

/** Adds the newest other pages of a query to its first one. */
const askOthers = async (
  query: Query,
  first: NvdPage,
  maxPages: number,
  context: LookupContext,
): Promise<NvdRecords> => {
  const others = await askNewestPages(query, first.total, maxPages - 1, context)
  const pages = [...others, first]
  const unparsed = pages.reduce((sum, page) => sum + page.unparsed, 0)
  if (unparsed > 0)
    context.warn('unparsed_record', `${unparsed} records could not be read`, nvd.name)
  const byId = new Map(pages.flatMap(page => page.records.map(each => [each.hit.id, each])))
  const isComplete = unparsed === 0 && byId.size >= first.total
  return { total: first.total, records: [...byId.values()], isComplete }
}

/** Newest records of a query, to be listed. Throws UpstreamError. */
export const askNewestCves = (query: Query, context: LookupContext): Promise<NvdRecords> =>
  askCves(query, context, LIST_PAGES)

/** Pages after the first one, from the newest backwards, until one cannot be read. */
const askNewestPages = async (
  query: Query,
  total: number,
  maxPages: number,
  context: LookupContext,
): Promise<NvdPage[]> => {
  const pages: NvdPage[] = []
  for (let end = total; end > PAGE && pages.length < maxPages; end -= PAGE) {
    const page = await askPage(query, Math.max(PAGE, end - PAGE), context).catch(error => {
      context.warn('partial_result', toMissingPart(nvd, error, context).message, nvd.name)
    })
    if (page === undefined) break
    pages.push(page)
  }
  return pages
}

const askPage = async (
  query: Query,
  startIndex: number,
  { ask }: LookupContext,
): Promise<NvdPage> => {
  const all = { ...query, noRejected: '', resultsPerPage: PAGE, startIndex }
  const request = { source: nvd, path: '/cves/2.0', query: all, reading: NVD_READING }
  const { body } = await ask({ ...request, form: 'json' })
  return body as NvdPage
}

/** Exploited vulnerabilities; undefined, with a warning, when the catalogue cannot be read. */
export const askExploited = async (
  context: LookupContext,
): Promise<ReadonlyMap<string, KevEntry> | undefined> => {
  try {
    const request = { source: kev, path: '', reading: KEV_READING }
    const { body } = await context.ask({ ...request, form: 'json' })
    return body as ReadonlyMap<string, KevEntry>
  } catch (error) {
    toMissingPart(kev, error, context)
    const message = 'which ones are exploited, and by ransomware, is unknown'
    context.warn('partial_result', message, kev.name)
    return undefined
  }
}
