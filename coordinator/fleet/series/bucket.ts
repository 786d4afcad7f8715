import { type CellMetric, METRIC_NAMES, METRICS } from '../cells/metrics.ts'

/** The samples of one span of time, gathered so that two of the same span can be merged. */
export interface Bucket {
  samples: number
  /** Values by position in METRIC_NAMES. NaN means unknown: arrays of numbers alone are compact. */
  values: number[]
  /** Samples in which the value was known, by the same position. */
  known: number[]
}

export const bucketOf = (metrics: Record<CellMetric, number | null>): Bucket => {
  const values = METRIC_NAMES.map(name => metrics[name] ?? Number.NaN)
  return { samples: 1, values, known: values.map(value => (Number.isNaN(value) ? 0 : 1)) }
}

/** Adds `more` to `into`. The order in which buckets are merged makes no difference. */
export const mergeInto = (into: Bucket, more: Bucket): void => {
  METRIC_NAMES.forEach((name, i) => {
    const [a, countA] = [into.values[i] as number, into.known[i] as number]
    const [b, countB] = [more.values[i] as number, more.known[i] as number]
    into.known[i] = countA + countB
    if (countB === 0) return
    if (countA === 0) into.values[i] = b
    else if (METRICS[name] === 'max') into.values[i] = Math.max(a, b)
    else into.values[i] = (a * countA + b * countB) / (countA + countB)
  })
  into.samples += more.samples
}

/** Returns the value of one metric in a bucket; null when unknown. */
export const metricOf = ({ values }: Bucket, metric: CellMetric): number | null => {
  const value = values[METRIC_NAMES.indexOf(metric)] ?? Number.NaN
  return Number.isNaN(value) ? null : value
}

/** Buckets of one row, by the unix milliseconds at which they begin. */
export type Segment = Map<number, Bucket>

/** Sequence of buckets, each with the time at which it begins. */
export type Buckets = Iterable<[at: number, bucket: Bucket]>

export const mergeSegment = (into: Segment, more: Buckets): Segment => {
  for (const [at, bucket] of more) {
    const own = into.get(at)
    if (own === undefined) into.set(at, bucket)
    else mergeInto(own, bucket)
  }
  return into
}

/** Takes the fuller one of two buckets of the same samples. */
export const overlaySegment = (into: Segment, same: Buckets): void => {
  for (const [at, bucket] of same) {
    const own = into.get(at)
    if (own === undefined || own.samples < bucket.samples) into.set(at, bucket)
  }
}

/** `[at, samples, value | [value, known] ...]`; `known` only where it is not `samples`. */
type Stored = [number, number, ...(number | null | [number, number])[]]

export const encodeSegment = (segment: Buckets): string => {
  const buckets = [...segment].sort(([a], [b]) => a - b)
  return JSON.stringify(buckets.map(([at, bucket]) => toStored(at, bucket)))
}

const toStored = (at: number, { samples, values, known }: Bucket): Stored => {
  const stored = values.map((value, i): Stored[2] => {
    if (Number.isNaN(value)) return null
    const rounded = Math.round(value * 1000) / 1000
    return known[i] === samples ? rounded : [rounded, known[i] ?? 0]
  })
  return [at, samples, ...stored]
}

/** Throws TypeError for text that is no list of buckets. */
export const decodeSegment = (text: string): Segment => {
  const segment: Segment = new Map()
  for (const stored of requireList(parse(text))) {
    const [at, samples, ...values] = requireList(stored)
    segment.set(requireNumber(at), decodeBucket(requireNumber(samples), values))
  }
  return segment
}

/** A stored bucket lacks the metrics that were added after it. */
const decodeBucket = (samples: number, stored: readonly unknown[]): Bucket => {
  const bucket: Bucket = { samples, values: [], known: [] }
  for (let i = 0; i < METRIC_NAMES.length; i++) {
    const value = stored[i] ?? null
    const [number, known] =
      typeof value === 'number'
        ? [value, samples]
        : value === null
          ? UNKNOWN
          : requireList(value).map(requireNumber)
    bucket.values.push(requireNumber(number))
    bucket.known.push(requireNumber(known))
  }
  return bucket
}

const UNKNOWN = [Number.NaN, 0] as const

/** The error of `JSON.parse` quotes the text. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new TypeError('expected JSON')
  }
}

const requireList = (value: unknown): readonly unknown[] => {
  if (Array.isArray(value)) return value
  throw new TypeError(`expected a list, found ${typeof value}`)
}

const requireNumber = (value: unknown): number => {
  if (typeof value === 'number') return value
  throw new TypeError(`expected a number, found ${typeof value}`)
}
