import { maxBytesOf } from './ask-source.ts'
import { UpstreamError } from './client.ts'
import { Slots } from './slots.ts'
import type { Source } from './source.ts'

/** Takes memory for an answer; undefined when there is none left. The result gives it back. */
export type AdmitAnswer = (source: string, bytes: number) => (() => void) | undefined

/** Callers that may wait for a place at one source. */
const MAX_WAITING = 64

/** Requests to each source at once, and the memory for their answers. */
export class SourcePlaces {
  readonly #admit: AdmitAnswer
  readonly #slots = new Map<string, Slots>()

  constructor(admit: AdmitAnswer) {
    this.#admit = admit
  }

  /**
   * Takes a place at the source and memory for the answer; returns what gives them back.
   * @throws UpstreamError rate_limited when too many wait
   */
  async enter(source: Source, signal: AbortSignal): Promise<() => void> {
    const slots = this.#slots.get(source.id) ?? new Slots(source.concurrency)
    this.#slots.set(source.id, slots)
    if (slots.waiting >= MAX_WAITING) throw createBusyError(source)
    await slots.enter(signal)
    const release = this.#admit(source.id, maxBytesOf(source))
    if (release === undefined) {
      slots.leave()
      throw createBusyError(source)
    }
    return () => {
      release()
      slots.leave()
    }
  }
}

const createBusyError = ({ id }: Source): UpstreamError =>
  new UpstreamError(id, 'rate_limited', 'too many requests wait for it', { retryAfterSeconds: 5 })
