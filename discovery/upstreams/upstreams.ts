import type { UpstreamSource } from '../../shared/wire/findings.ts'
import type { LookupContext, LookupSettings } from '../lookup-run.ts'
import type { AnswerCache } from './answer-cache.ts'
import { type AskParts, askSource } from './ask-source.ts'
import type { CacheEntry } from './cache-entry.ts'
import { type UpstreamAnswer, UpstreamError, type UpstreamRequest } from './client.ts'
import type { DnsResolver } from './dns-resolver.ts'
import { failureOfError } from './failure.ts'
import { Flights } from './flights.ts'
import { conditionsOf, freshUntil } from './freshness.ts'
import { pickHeaders } from './kept-headers.ts'
import { type OpenLookup, openLookup } from './lookup.ts'
import { type PreparedRequest, prepareRequest } from './prepare.ts'
import { hasKeySetting, type SourceSettings, type UpstreamSettings } from './settings.ts'
import type { Source } from './source.ts'
import { type AdmitAnswer, SourcePlaces } from './source-places.ts'
import { toAnswer } from './to-answer.ts'

export interface UpstreamsParts extends AskParts {
  /** Settings in force, which a reload replaces. */
  readSettings: () => UpstreamSettings
  cache: AnswerCache
  resolver: DnsResolver
  /** Reads the key of a source; undefined when it has none. */
  readKey(source: Source): Promise<string | undefined>
  admit: AdmitAnswer
  /** Receives each answer, by how the cache took part and its age in seconds. */
  onAnswer(source: string, cache: UpstreamSource['cache'], ageSeconds: number): void
}

const NOT_MODIFIED = 304

/** The one client of outside sources: cache, limits, retries and provenance for all lookups. */
export class Upstreams {
  readonly #parts: UpstreamsParts
  readonly #flights = new Flights<CacheEntry>()
  readonly #places: SourcePlaces
  readonly #closed = new AbortController()
  /** Facts of the configuration for programs. */
  readonly settings: LookupSettings

  constructor(parts: UpstreamsParts) {
    this.#parts = parts
    this.#places = new SourcePlaces(parts.admit)
    this.settings = {
      hasKey: source => hasKeySetting(this.#settingsOf(source)),
      hasOwnUrl: source => this.#settingsOf(source)?.url !== undefined,
      option: (source, name) => this.#settingsOf(source)?.[name],
      get site() {
        return parts.readSettings().site
      },
    }
  }

  /** Opens the context of one run, with the lists that its answer shows. */
  openLookup(signal: AbortSignal, searchEntities: LookupContext['searchEntities']): OpenLookup {
    return openLookup({
      searchEntities,
      ask: (request, onStale) => this.ask(request, signal, onStale),
      settings: this.settings,
      resolver: this.#parts.resolver,
      now: this.#parts.now,
      signal,
    })
  }

  /**
   * Answers from the cache, else from the source, else from an older answer within its limit.
   * @param onStale called with the failure that an older answer stands in for
   * @throws UpstreamError
   */
  async ask(
    request: UpstreamRequest,
    signal: AbortSignal,
    onStale: (error: UpstreamError) => void = () => {},
  ): Promise<UpstreamAnswer> {
    const prepared = await this.#prepare(request)
    const entry = await this.#parts.cache.read(prepared.cacheKey)
    if (entry !== undefined && this.#isFresh(entry)) return this.#answer(prepared, entry, 'hit')
    try {
      const fetched = await this.#fetch(prepared, entry, signal)
      const isConfirmed = entry !== undefined && fetched.body === entry.body
      return this.#answer(prepared, fetched, isConfirmed ? 'revalidated' : 'miss')
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      if (entry === undefined || !this.#isUsable(entry, request.source)) throw error
      onStale(error)
      return this.#answer(prepared, entry, 'stale')
    }
  }

  /** True while no outside source may be asked. */
  get isOffline(): boolean {
    return this.#parts.readSettings().egress === 'off'
  }

  /** Ends all requests. */
  close(): void {
    this.#closed.abort()
  }

  #settingsOf(source: string): SourceSettings | undefined {
    return this.#parts.readSettings().sources[source]
  }

  async #prepare(request: UpstreamRequest): Promise<PreparedRequest> {
    const { source } = request
    const secret = await this.#parts.readKey(source)
    if (secret === undefined && source.key?.isRequired)
      throw new UpstreamError(
        source.id,
        'auth_missing',
        `it needs a key; set upstreams.sources.${source.id}.key or key_file`,
      )
    const builtIn = secret === undefined ? source.url : (source.urlWithKey ?? source.url)
    const base = this.#settingsOf(source.id)?.url?.replace(/\/+$/, '') ?? builtIn
    return prepareRequest(request, { base, secret, contact: this.#parts.readSettings().contact })
  }

  #isFresh({ fetchedAt, freshUntil }: CacheEntry): boolean {
    const now = this.#parts.now()
    // an answer of the future was kept under a clock that was wrong
    return now < freshUntil && fetchedAt <= now + 60_000
  }

  #isUsable({ fetchedAt }: CacheEntry, { maxStaleSeconds }: Source): boolean {
    return this.#parts.now() - fetchedAt <= maxStaleSeconds * 1000
  }

  #fetch(
    prepared: PreparedRequest,
    entry: CacheEntry | undefined,
    signal: AbortSignal,
  ): Promise<CacheEntry> {
    const { source } = prepared.request
    if (this.isOffline) throw new UpstreamError(source.id, 'offline', 'upstreams.egress is off')
    return this.#flights.join(prepared.cacheKey, signal, all =>
      this.#refresh(prepared, entry, AbortSignal.any([all, this.#closed.signal])),
    )
  }

  async #refresh(
    prepared: PreparedRequest,
    entry: CacheEntry | undefined,
    signal: AbortSignal,
  ): Promise<CacheEntry> {
    this.#obeyFloor(prepared)
    const leave = await this.#places.enter(prepared.request.source, signal)
    try {
      const conditions = entry === undefined ? {} : conditionsOf(entry.headers)
      const reply = await askSource(prepared, conditions, this.#parts, signal)
      const fresh = this.#entryOf(prepared, entry, reply)
      if (isKept(prepared.request.source)) await this.#parts.cache.write(fresh)
      return fresh
    } finally {
      leave()
    }
  }

  #obeyFloor({ request: { source }, cacheKey }: PreparedRequest): void {
    const waitMs = this.#parts.limits.floorWaitMs(source, cacheKey)
    if (waitMs === 0) return
    const retryAfterSeconds = Math.ceil(waitMs / 1000)
    const message = `it was queried for the same data less than ${source.floorSeconds} s ago`
    throw new UpstreamError(source.id, 'rate_limited', message, { retryAfterSeconds })
  }

  #entryOf(
    { request: { source }, cacheKey }: PreparedRequest,
    before: CacheEntry | undefined,
    { status, headers, body }: Awaited<ReturnType<typeof askSource>>,
  ): CacheEntry {
    const fetchedAt = this.#parts.now()
    const kept = pickHeaders(headers)
    const until = freshUntil(source, headers, fetchedAt)
    if (status !== NOT_MODIFIED)
      return {
        key: cacheKey,
        source: source.id,
        status,
        headers: kept,
        fetchedAt,
        freshUntil: until,
        body,
      }
    if (before === undefined)
      throw new UpstreamError(source.id, 'malformed', 'it answered HTTP 304 to a first request')
    return { ...before, headers: { ...before.headers, ...kept }, fetchedAt, freshUntil: until }
  }

  #answer(
    { request, publicUrl }: PreparedRequest,
    entry: CacheEntry,
    cache: UpstreamSource['cache'],
  ): Promise<UpstreamAnswer> {
    const age_s = Math.max(0, Math.floor((this.#parts.now() - entry.fetchedAt) / 1000))
    this.#parts.onAnswer(request.source.id, cache, age_s)
    return toAnswer(request, entry, { publicUrl, cache, age_s }).catch(error => {
      throw failureOfError(request.source, error, entry.status)
    })
  }
}

/** False for a source whose answers are of no use a moment later. */
const isKept = ({ ttlSeconds, maxStaleSeconds }: Source): boolean =>
  ttlSeconds > 0 || maxStaleSeconds > 0
