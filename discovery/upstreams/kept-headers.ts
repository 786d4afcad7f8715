const KEPT: ReadonlySet<string> = new Set([
  'content-type',
  'etag',
  'last-modified',
  'link',
  'ratelimit',
  'ratelimit-policy',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
])
const MAX_CHARACTERS = 1024

/** Headers of an answer that are kept with it: those that programs and conditions need. */
export const pickHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(
      ([name, value]) => KEPT.has(name) && value.length <= MAX_CHARACTERS,
    ),
  )
