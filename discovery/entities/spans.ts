/** Start and end of a time in which something was seen again and again, Unix milliseconds. */
export type Span = readonly [from: number, to: number]

/** Sightings that are further apart than this say nothing about each other: 15 minutes. */
export const SAME_TIME_MS = 15 * 60_000

/** Most spans that are kept of one thing; the oldest go. */
const MAX_SPANS = 8

/** Adds a moment. Spans that are less than 15 minutes apart become one. */
export const addMoment = (spans: readonly Span[], at: number): Span[] => {
  const near = spans.filter(span => distanceTo(span, at) <= SAME_TIME_MS)
  const others = spans.filter(span => distanceTo(span, at) > SAME_TIME_MS)
  const joined: Span = [
    Math.min(at, ...near.map(([from]) => from)),
    Math.max(at, ...near.map(([, to]) => to)),
  ]
  return [...others, joined].toSorted(([a], [b]) => a - b).slice(-MAX_SPANS)
}

/** True when a moment of one lies within a span of the other. */
export const isOverlapping = (one: readonly Span[], other: readonly Span[]): boolean =>
  one.some(([from, to]) => other.some(([start, end]) => from <= end && start <= to))

/** Milliseconds between a moment and the nearest span: 0 inside of one, Infinity without spans. */
export const distanceToSpans = (spans: readonly Span[], at: number): number =>
  Math.min(Number.POSITIVE_INFINITY, ...spans.map(span => distanceTo(span, at)))

const distanceTo = ([from, to]: Span, at: number): number => Math.max(0, from - at, at - to)
