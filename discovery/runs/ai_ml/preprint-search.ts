import type { LookupContext, LookupRun } from '../../lookup-run.ts'
import type { PreprintSearch } from '../../modules/ai_ml/preprint-search.ts'
import { UpstreamError } from '../../upstreams/client.ts'
import arxiv from '../../upstreams/sources/arxiv.ts'
import { readAnswer } from '../../upstreams/try-sources.ts'
import { ARXIV_LISTS, type ArxivFeed, readArxiv } from './arxiv/read-arxiv.ts'

interface Input {
  query?: string
  category: string
}

const MAX_RESULTS = 25

const searchPreprints: LookupRun<Input, PreprintSearch> = async ({ query, category }, context) => {
  const feed = await askFeed(writeQuery(query, category), context)
  if (feed.unparsed > 0)
    context.warn('unparsed_record', `${feed.unparsed} preprints could not be read`, arxiv.name)
  const { total, items } = feed
  return { query: query ?? null, category, total, start: 0, items: items.slice(0, MAX_RESULTS) }
}
export default searchPreprints

/** Words in all fields, and the category (https://info.arxiv.org/help/api/user-manual.html, 5.1). */
const writeQuery = (query: string | undefined, category: string): string => {
  const words = (query ?? '').split(/\s+/).map(word => word.replaceAll(/["()\\]/g, ''))
  const terms = words.filter(word => word !== '').map(word => `all:"${word}"`)
  return [`cat:${category}`, ...terms].join(' AND ')
}

/** An empty page of a search with results happens at random, and is no answer. */
const askFeed = async (search: string, context: LookupContext): Promise<ArxivFeed> => {
  const query = {
    search_query: search,
    start: 0,
    max_results: MAX_RESULTS,
    sortBy: 'submittedDate',
    sortOrder: 'descending',
  }
  const { body } = await context.ask({
    source: arxiv,
    path: '/api/query',
    query,
    form: 'xml',
    reading: { lists: ARXIV_LISTS },
  })
  const feed = readAnswer(arxiv, () => readArxiv(body))
  if (feed.error !== undefined)
    throw new UpstreamError(arxiv.id, 'refused', `it refused the search: ${feed.error}`)
  if (feed.total > 0 && feed.items.length === 0 && feed.unparsed === 0)
    throw new UpstreamError(
      arxiv.id,
      'malformed',
      'it answered an empty page of a search with results',
    )
  return feed
}
