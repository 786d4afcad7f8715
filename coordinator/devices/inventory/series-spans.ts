import * as z from 'zod'
import type { Segment } from '../../fleet/series/series-buffer.ts'

/** Samples of one span of time, gathered. */
export interface Span {
  samples: number
  mean: number
}

/** Spans of one row, by the unix milliseconds at which they begin. */
export type Spans = Map<number, Span>

/** Adds samples to a span; the order makes no difference. */
export const addToSpan = (spans: Spans, at: number, { samples, mean }: Span): void => {
  const own = spans.get(at) ?? { samples: 0, mean: 0 }
  const all = own.samples + samples
  spans.set(at, { samples: all, mean: (own.mean * own.samples + mean * samples) / all })
}

/** Spans of one row while they wait to be written. */
export class SpanSegment implements Segment<Span> {
  readonly #spans: Spans = new Map()

  add(at: number, span: Span): void {
    addToSpan(this.#spans, at, span)
  }

  [Symbol.iterator](): IterableIterator<[number, Span]> {
    return this.#spans[Symbol.iterator]()
  }
}

type StoredSpan = [at: number, samples: number, mean: number]

const isStoredSpan = (value: unknown): boolean =>
  Array.isArray(value) && value.length === 3 && value.every(Number.isFinite)

/** Spans as they are stored; every sample reads them, and a check by hand costs a tenth of a tuple's. */
export const StoredSpans = z.custom<StoredSpan[]>(
  value => Array.isArray(value) && value.every(isStoredSpan),
  'expected a list of spans',
)

export const encodeSpans = (spans: Spans): StoredSpan[] =>
  [...spans]
    .map(([at, { samples, mean }]): StoredSpan => [at, samples, round(mean)])
    .sort(([a], [b]) => a - b)

export const decodeSpans = (stored: readonly StoredSpan[]): Spans =>
  new Map(stored.map(([at, samples, mean]) => [at, { samples, mean }]))

/** Seven decimal places keep a position on the globe to a centimetre. */
const round = (value: number): number => Math.round(value * 1e7) / 1e7
