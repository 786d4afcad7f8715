import type { Source } from './source.ts'

/** Longest lifetime that HTTP may give an answer. */
const MAX_LIFETIME_SECONDS = 30 * 86_400
const MAX_RETRY_AFTER_SECONDS = 86_400

type Headers = Readonly<Record<string, string>>

/**
 * Time up to which an answer is used without asking again, Unix milliseconds: that of the source, or
 * the lifetime of HTTP where it is longer (RFC 9111, 4.2.1).
 */
export const freshUntil = (
  { ttlSeconds, floorSeconds = 0 }: Pick<Source, 'ttlSeconds' | 'floorSeconds'>,
  headers: Headers,
  fetchedAt: number,
): number => {
  const lifetime = Math.min(MAX_LIFETIME_SECONDS, readLifetime(headers, fetchedAt))
  return fetchedAt + 1000 * Math.max(ttlSeconds, floorSeconds, lifetime)
}

const readLifetime = (headers: Headers, fetchedAt: number): number => {
  const control = headers['cache-control'] ?? ''
  const [, maxAge] = /(?:^|[\s,])max-age=(\d{1,10})(?:$|[\s,;])/i.exec(control) ?? []
  if (maxAge !== undefined) return Number(maxAge)
  const expires = Date.parse(headers.expires ?? '')
  return Number.isNaN(expires) ? 0 : (expires - (readDate(headers) ?? fetchedAt)) / 1000
}

const readDate = ({ date }: Headers): number | undefined => {
  const at = Date.parse(date ?? '')
  return Number.isNaN(at) ? undefined : at
}

/** Seconds of Retry-After, which is a number or a date (RFC 9110, 10.2.3); at most a day. */
export const readRetryAfter = (headers: Headers, now: number): number | undefined => {
  const text = headers['retry-after']?.trim() ?? ''
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000
  if (Number.isNaN(seconds)) return undefined
  return Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(0, Math.ceil(seconds)))
}

/** Headers by which a source tells whether its answer has changed (RFC 9110, 13.1). */
export const conditionsOf = ({ etag, 'last-modified': modified }: Headers): Headers => ({
  ...(etag === undefined ? {} : { 'if-none-match': etag }),
  ...(modified === undefined ? {} : { 'if-modified-since': modified }),
})
