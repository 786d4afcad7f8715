import { join } from 'node:path'
import * as z from 'zod'
import { readPrivate, replacePrivate } from '../../shared/private-file.ts'
import { HostBucket } from './host-bucket.ts'
import type { Source, SourceRate } from './source.ts'

interface HostLimitsParts {
  folder: string
  now: () => number
  /** Coordinators that ask the same sources, this one included. */
  countCoordinators(): number
  onFault(error: unknown): void
}

const StateFile = z.object({
  buckets: z.record(
    z.string(),
    z.object({ tokens: z.number(), at: z.number(), pausedUntil: z.number() }),
  ),
  asked: z.record(z.string(), z.number()),
})
type StateFile = z.output<typeof StateFile>

interface KnownHost {
  bucket: HostBucket
  /** True when the bucket outlives the process. */
  isPersisted: boolean
}

const MAX_HOSTS = 2000

/** Longer than any floor, and than the time that a bucket fills in. */
const FORGET_MS = 86_400_000

/**
 * Limits of the hosts: which of them may be asked now, and the times of the last requests. What a
 * source counts over hours or days is on disk before the request, so that a restart does not ask
 * again.
 */
export class HostLimits {
  readonly #parts: HostLimitsParts
  readonly #hosts = new Map<string, KnownHost>()
  /** Time of the last request by cache key, for sources with a floor, Unix milliseconds. */
  readonly #asked: Map<string, number>
  readonly #kept: StateFile
  /** Writes happen one after another, so that the newest state stays. */
  #lastWrite: Promise<void> = Promise.resolve()

  private constructor(parts: HostLimitsParts, kept: StateFile) {
    this.#parts = parts
    this.#kept = kept
    this.#asked = new Map(Object.entries(kept.asked))
  }

  static async open(parts: HostLimitsParts): Promise<HostLimits> {
    const text = await readPrivate(pathIn(parts.folder)).catch(parts.onFault)
    const kept = StateFile.safeParse(parseJson(text ?? ''))
    return new HostLimits(parts, kept.data ?? { buckets: {}, asked: {} })
  }

  /** Milliseconds until the floor of the source lets the same thing be asked again. */
  floorWaitMs({ floorSeconds = 0 }: Source, cacheKey: string): number {
    const sinceMs = this.#parts.now() - (this.#asked.get(cacheKey) ?? Number.NEGATIVE_INFINITY)
    return sinceMs < 0 ? 0 : Math.max(0, floorSeconds * 1000 - sinceMs)
  }

  /** Takes a place at the host; see `HostBucket.take`. */
  take(source: Source, host: string, hasKey: boolean, maxWaitMs: number): number {
    return this.#find(source, host, hasKey).bucket.take(maxWaitMs)
  }

  give(source: Source, host: string): void {
    this.#hosts.get(nameOf(source, host))?.bucket.give()
  }

  /** Leaves the host alone for a time that it asked for. */
  async pause(source: Source, host: string, seconds: number): Promise<void> {
    const { bucket } = this.#find(source, host, false)
    bucket.pause(this.#parts.now() + seconds * 1000)
    if (source.isPersisted) await this.#store()
  }

  /** Notes a request; for a source whose limits outlive the process it is on disk when this resolves. */
  async note(source: Source, cacheKey: string): Promise<void> {
    if (source.floorSeconds !== undefined) this.#asked.set(cacheKey, this.#parts.now())
    if (source.isPersisted) await this.#store()
  }

  #find(source: Source, host: string, hasKey: boolean): KnownHost {
    const name = nameOf(source, host)
    const rate = this.#rateOf(source, hasKey)
    const { now } = this.#parts
    const bucket =
      this.#hosts.get(name)?.bucket ?? new HostBucket(rate, now, this.#kept.buckets[name])
    bucket.setRate(rate)
    const found = { bucket, isPersisted: source.isPersisted ?? false }
    this.#hosts.delete(name)
    this.#hosts.set(name, found)
    if (this.#hosts.size > MAX_HOSTS) this.#forgetOne()
    return found
  }

  #rateOf({ rate, rateWithKey }: Source, hasKey: boolean): SourceRate {
    const { requests, perSeconds } = hasKey ? (rateWithKey ?? rate) : rate
    const coordinators = Math.max(1, this.#parts.countCoordinators())
    const share = Math.max(1, Math.floor(requests / coordinators))
    return { requests: share, perSeconds: (perSeconds * coordinators * share) / requests }
  }

  /** Forgets a host whose bucket is full again; of none such, the one that was asked first. */
  #forgetOne(): void {
    const [oldest] = this.#hosts.keys()
    const idle = [...this.#hosts].find(([, { bucket }]) => bucket.isFull)
    this.#hosts.delete(idle?.[0] ?? oldest ?? '')
  }

  async #store(): Promise<void> {
    const now = this.#parts.now()
    for (const [key, at] of this.#asked) if (now - at > FORGET_MS) this.#asked.delete(key)
    const before = Object.entries(this.#kept.buckets)
    const buckets = Object.fromEntries([
      ...before.filter(([, { at, pausedUntil }]) => Math.max(at, pausedUntil) > now - FORGET_MS),
      ...[...this.#hosts]
        .filter(([, { isPersisted }]) => isPersisted)
        .map(([name, { bucket }]) => [name, bucket.state] as const),
    ])
    const state: StateFile = { buckets, asked: Object.fromEntries(this.#asked) }
    const text = `${JSON.stringify(state)}\n`
    this.#lastWrite = this.#lastWrite
      .then(() => replacePrivate(pathIn(this.#parts.folder), text))
      .catch(this.#parts.onFault)
    await this.#lastWrite
  }
}

const nameOf = ({ id }: Source, host: string): string => `${id} ${host}`

const pathIn = (folder: string): string => join(folder, 'limits.json')

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
