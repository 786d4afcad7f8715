type Json = unknown

/** Text of ids that are drawn at random, of addresses of test servers, and of times of the machine. */
const PASSING: readonly [RegExp, string][] = [
  [/\b([a-z]+)_0[0-9a-hjkmnp-tv-z]{25}\b/g, '$1_…'],
  [/\bent_[0-9a-f]{24}\b/g, 'ent_…'],
  [/\bhmac:[0-9a-f]{12}\b/g, 'hmac:…'],
  [/\b127\.0\.0\.1:\d{4,5}\b/g, '127.0.0.1:…'],
]

/** Fields measured by the clock or disk of the machine, and edges that are learned in passing. */
const MEASURED = /_ms$|^learned_edges$|^uptime_s$|^(disk|free|total)_bytes$/

/** An answer without what differs from one run to the next: random ids and measured figures. */
export const settle = (value: Json, name = ''): Json => {
  if (typeof value === 'string')
    return PASSING.reduce((text, [pattern, to]) => text.replaceAll(pattern, to), value)
  if (typeof value === 'number') return MEASURED.test(name) ? '…' : value
  if (Array.isArray(value)) return value.map(each => settle(each))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, settle(each, key)]))
}
