import { defineSource } from '../source.ts'

/**
 * Preprints, https://info.arxiv.org/help/api: one request in three seconds over one connection. The
 * metadata is CC0.
 */
export default defineSource({
  id: 'arxiv',
  name: 'arxiv',
  url: 'https://export.arxiv.org',
  ttlSeconds: 12 * 3600,
  maxStaleSeconds: 7 * 86_400,
  rate: { requests: 1, perSeconds: 3 },
  concurrency: 1,
  isPersisted: true,
  timeoutSeconds: 30,
  licence: 'CC0-1.0',
  attribution: 'Thank you to arXiv for use of its open access interoperability.',
  verify: {
    path: '/api/query',
    query: { search_query: 'cat:cs.AI', max_results: 1 },
    form: 'xml',
    fields: ['feed.opensearch:totalResults', 'feed.entry.published', 'feed.entry.summary'],
  },
})
