import type { UpstreamSource } from '../../shared/wire/findings.ts'
import type { CacheEntry } from './cache-entry.ts'
import type { UpstreamAnswer, UpstreamRequest } from './client.ts'
import { MalformedBody, readBody } from './read-body.ts'

interface Provenance extends Pick<UpstreamSource, 'cache' | 'age_s'> {
  /** Address of the request without secrets. */
  publicUrl: string
}

const MAX_URL_CHARACTERS = 2048

/** The answer of an entry, with what a reader must know of its source. */
export const toAnswer = async (
  request: UpstreamRequest,
  entry: CacheEntry,
  { publicUrl, cache, age_s }: Provenance,
): Promise<UpstreamAnswer> => {
  const { name, licence, attribution } = request.source
  return {
    status: entry.status,
    headers: entry.headers,
    body: await readEntry(request, entry),
    source: {
      name,
      url: publicUrl.slice(0, MAX_URL_CHARACTERS),
      fetched_at: new Date(entry.fetchedAt).toISOString(),
      age_s,
      cache,
      licence,
      attribution,
    },
  }
}

/** A status that the request accepts may come with any body; one of another form is null. */
const readEntry = async (
  { form, reading }: UpstreamRequest,
  { status, headers, body }: CacheEntry,
): Promise<unknown> => {
  try {
    return await readBody(
      { form, ...(reading && { reading }) },
      headers['content-type'] ?? '',
      body,
    )
  } catch (error) {
    if (error instanceof MalformedBody && status >= 300) return null
    throw error
  }
}
