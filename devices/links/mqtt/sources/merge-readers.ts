import type { TopicReader } from '../found-device.ts'

type TopicAndReader = readonly [topic: string, reader: TopicReader]

/** Readers by topic; several of one topic become one that reads all they read. */
export const mergeReaders = (readers: readonly TopicAndReader[]): Map<string, TopicReader> => {
  const merged = new Map<string, TopicReader>()
  for (const [topic, reader] of readers) {
    const before = merged.get(topic)
    merged.set(topic, before === undefined ? reader : both(before, reader))
  }
  return merged
}

const both =
  (first: TopicReader, second: TopicReader): TopicReader =>
  payload => {
    const [one, other] = [first(payload), second(payload)]
    if (one === undefined || other === undefined) return one ?? other
    return { ...one, ...other, values: { ...one.values, ...other.values } }
  }
