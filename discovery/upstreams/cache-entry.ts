import { createHash } from 'node:crypto'
import * as z from 'zod'

/** A good answer of a source, as it is kept. */
export interface CacheEntry {
  key: string
  /** Id of the source. */
  source: string
  status: number
  headers: Readonly<Record<string, string>>
  /** Time of the answer, or of the one that confirmed it, Unix milliseconds. */
  fetchedAt: number
  /** Time up to which it is used without asking, Unix milliseconds. */
  freshUntil: number
  body: Buffer
}

const Head = z.object({
  version: z.literal(1),
  key: z.string(),
  source: z.string(),
  status: z.int(),
  headers: z.record(z.string(), z.string()),
  fetched_at: z.number(),
  fresh_until: z.number(),
  sha256: z.string(),
})

const LINE_FEED = 10

/** A file: one line of JSON, then the body as it was received and decoded. */
export const encodeEntry = (entry: CacheEntry): Buffer => {
  const head: z.output<typeof Head> = {
    version: 1,
    key: entry.key,
    source: entry.source,
    status: entry.status,
    headers: entry.headers,
    fetched_at: entry.fetchedAt,
    fresh_until: entry.freshUntil,
    sha256: digest(entry.body),
  }
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), entry.body])
}

/** Undefined for a file that is torn, damaged, or of another version. */
export const decodeEntry = (file: Buffer): CacheEntry | undefined => {
  const end = file.indexOf(LINE_FEED)
  const head = Head.safeParse(parseJson(file.subarray(0, Math.max(0, end)).toString()))
  const body = file.subarray(end + 1)
  if (!head.success || digest(body) !== head.data.sha256) return undefined
  const { key, source, status, headers, fetched_at, fresh_until } = head.data
  return { key, source, status, headers, fetchedAt: fetched_at, freshUntil: fresh_until, body }
}

const digest = (body: Buffer): string => createHash('sha256').update(body).digest('hex')

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
