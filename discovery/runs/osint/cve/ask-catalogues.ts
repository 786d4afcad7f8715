import type { LookupContext } from '../../../lookup-run.ts'
import { UpstreamError } from '../../../upstreams/client.ts'
import kev from '../../../upstreams/sources/kev.ts'
import nvd from '../../../upstreams/sources/nvd.ts'
import { KEV_READING, type KevEntry } from './read-kev.ts'
import { NVD_READING, type NvdPage } from './read-nvd.ts'

/** Records of one page; the newest ones are wanted, and the NVD lists the oldest first. */
const PAGE = 100

/** Newest records for a query of the NVD. Throws UpstreamError. */
export const askNewestCves = async (
  query: Readonly<Record<string, string>>,
  context: LookupContext,
): Promise<NvdPage> => {
  const first = await askPage(query, 0, context)
  const page = first.total <= PAGE ? first : await askPage(query, first.total - PAGE, context)
  if (page.unparsed > 0)
    context.warn('unparsed_record', `${page.unparsed} records could not be read`, nvd.name)
  return { ...page, total: first.total }
}

const askPage = async (
  query: Readonly<Record<string, string>>,
  startIndex: number,
  { ask }: LookupContext,
): Promise<NvdPage> => {
  const all = { ...query, noRejected: '', resultsPerPage: PAGE, startIndex }
  const request = { source: nvd, path: '/cves/2.0', query: all, reading: NVD_READING }
  const { body } = await ask({ ...request, form: 'json' })
  return body as NvdPage
}

/** Exploited vulnerabilities; none, with a warning, when the catalogue cannot be read. */
export const askExploited = async (
  context: LookupContext,
): Promise<ReadonlyMap<string, KevEntry>> => {
  try {
    const request = { source: kev, path: '', reading: KEV_READING }
    const { body } = await context.ask({ ...request, form: 'json' })
    return body as ReadonlyMap<string, KevEntry>
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    context.warn('partial_result', 'which ones are exploited is unknown', kev.name)
    return new Map()
  }
}
