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

type Stored = [at: number, samples: number, mean: number][]

export const encodeSpans = (spans: Spans): string => {
  const stored: Stored = [...spans].map(([at, { samples, mean }]) => [at, samples, round(mean)])
  return JSON.stringify(stored.sort(([a], [b]) => a - b))
}

export const decodeSpans = (text: string): Spans =>
  new Map((JSON.parse(text) as Stored).map(([at, samples, mean]) => [at, { samples, mean }]))

/** Seven decimal places keep a position on the globe to a centimetre. */
const round = (value: number): number => Math.round(value * 1e7) / 1e7
