/** An outside service that lookups read. One file each in `sources`, named by its id. */
export interface Source {
  /** Key in the configuration, `upstreams.sources.<id>`: `metno`. */
  id: string
  /** Name in answers: `met-norway`. */
  name: string
  /**
   * Address without a trailing slash; other schemes than https: `http`, `dns`, `whois`, `unix`. Null
   * for a source that the operator has to name.
   */
  url: string | null
  /** Address that takes the place of `url` when there is a key. */
  urlWithKey?: string
  /** Age up to which a cached answer is used without asking. Longer lifetimes of HTTP win. */
  ttlSeconds: number
  /** Age up to which a cached answer stands in for a failed one; 0 for none. */
  maxStaleSeconds: number
  /** Shortest interval between two requests for the same thing, whatever HTTP says. */
  floorSeconds?: number
  rate: SourceRate
  /** Requests at once. */
  concurrency: number
  /** True for limits and caches that survive a restart on disk even when they are short. */
  isPersisted?: boolean
  /** Longest time of a request, seconds; 10 by default. */
  timeoutSeconds?: number
  /** Most bytes of an answer; 5 MiB by default. */
  maxBytes?: number
  /** Where a key goes, and whether the source works without. */
  key?: SourceKey
  /** SPDX id or short name; null when unknown. */
  licence: string | null
  /** Text that a reader must see; null when none is asked for. */
  attribution: string | null
  /** Smallest valid request, and the fields its answer must have, for `shoal upstreams verify`. */
  verify?: SourceCheck
}

export interface SourceRate {
  requests: number
  perSeconds: number
}

export interface SourceKey {
  in: 'header' | 'query'
  /** Name of the header or parameter. */
  name: string
  /** Text before the key in a header: `Bearer `. */
  prefix?: string
  isRequired: boolean
}

export interface SourceCheck {
  path: string
  query?: Readonly<Record<string, string | number>>
  body?: object
  form: 'json' | 'text' | 'xml' | 'yaml'
  /** Paths of fields, `[]` for each member of a list: `properties.timeseries[].time`. */
  fields: readonly string[]
}

export const defineSource = (source: Source): Source => source
