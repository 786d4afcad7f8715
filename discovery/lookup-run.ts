import type { UpstreamWarningCode } from '../shared/wire/findings.ts'
import type { RegistryHit } from './modules/community/registry-search.ts'
import type { UpstreamAnswer, UpstreamRequest } from './upstreams/client.ts'
import type { DnsResolver } from './upstreams/dns-resolver.ts'

/** What the program of a lookup gets beside its input. It runs on the coordinator. */
export interface LookupContext {
  /** Aborts at the deadline, or when nobody waits any more. */
  signal: AbortSignal
  /** Unix milliseconds. */
  now: () => number
  /**
   * Asks one source, from its cache where possible; the source is then listed in the answer.
   * @throws UpstreamError when neither the source nor its cache answers
   */
  ask(request: UpstreamRequest): Promise<UpstreamAnswer>
  /** Searches what was discovered, by words; best match first. */
  searchEntities(query: string, limit: number): Promise<readonly RegistryHit[]>
  /** Resolver of the machine, or that of the configuration. */
  resolver: DnsResolver
  warn(code: UpstreamWarningCode, message: string, source?: string): void
  /** Settings of sources by name, such as zones, servers and whether a key is set. */
  settings: LookupSettings
}

/** Facts of the configuration that programs decide by. Secrets stay in the client. */
export interface LookupSettings {
  /** True when the source has a key. */
  hasKey(source: string): boolean
  /** True when the operator has set another address for the source. */
  hasOwnUrl(source: string): boolean
  /** Option of a source: `noncommercial`, `servers`. */
  option(source: string, name: string): unknown
  /** Place of the operator, in the place of missing input. */
  site: SiteSettings
}

/** Place of the operator's site, and the orientation of its solar panels. */
export interface SiteSettings {
  /** WGS 84, degrees; both or none. */
  lat?: number | undefined
  lon?: number | undefined
  /** Tilt from the horizontal, degrees. */
  pv_tilt_deg: number
  /** 0 is south, -90 east, 90 west. */
  pv_azimuth_deg: number
}

export type LookupRun<I = never, O = unknown> = (input: I, context: LookupContext) => Promise<O>
