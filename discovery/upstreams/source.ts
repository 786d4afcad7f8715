import type * as z from 'zod'
import type { Reading } from '../../shared/foreign/document.ts'

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
  /** Rate that the service grants to a key. */
  rateWithKey?: SourceRate
  /** Requests at once. */
  concurrency: number
  /** True for limits and caches that survive a restart on disk even when they are short. */
  isPersisted?: boolean
  /** Longest time of a request, seconds; 10 by default. */
  timeoutSeconds?: number
  /** Most bytes of an answer; 5 MiB by default. */
  maxBytes?: number
  /** True for a source whose redirects are followed on its own host only. */
  staysOnHost?: boolean
  /** Place of the key in a request, and whether the source works without. */
  key?: SourceKey
  /** Settings beside address and key, for `upstreams.sources.<id>`; each has a default or is optional. */
  options?: z.ZodRawShape
  /**
   * Seconds for which the source must not be asked again, where its answers say so in another way
   * than Retry-After.
   */
  pauseSeconds?(reply: SourceReply, now: number): number | undefined
  /** SPDX id or short name; null when unknown. */
  licence: string | null
  /** Text that a reader must see; null when none is asked for. */
  attribution: string | null
  /** Smallest valid request, and the fields its answer must have, for `shoal upstreams verify`. */
  verify?: SourceCheck
}

/** A bucket of so many requests that fills in so many seconds, for each host of the source. */
export interface SourceRate {
  requests: number
  perSeconds: number
}

export interface SourceKey {
  /** `path`: the key is the first segment of the path. */
  in: 'header' | 'query' | 'path'
  /** Name of the header or parameter. */
  name: string
  /** Source whose key it is, where several services of one provider share a key. */
  sharedWith?: string
  /** Last part of its environment variable, `SHOAL_<ID>_API_KEY`; `API_KEY` by default. */
  variable?: string
  /** Text before the key in a header: `Bearer `. */
  prefix?: string
  isRequired: boolean
}

/** Raw answer of a source, before its form is checked. */
export interface SourceReply {
  status: number
  headers: Readonly<Record<string, string>>
  text: string
}

interface SourceCheck {
  path: string
  query?: Readonly<Record<string, string | number>>
  body?: object
  form: Reading['format']
  /** Paths of fields, `[]` for each member of a list: `properties.timeseries[].time`. */
  fields: readonly string[]
}

/** Token in the header `authorization` (RFC 6750), configured as `SHOAL_<ID>_TOKEN`. */
export const BEARER_TOKEN = {
  in: 'header',
  name: 'authorization',
  prefix: 'Bearer ',
  variable: 'TOKEN',
} as const

export const defineSource = (source: Source): Source => source
