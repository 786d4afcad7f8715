import fc from 'fast-check'
import t from 'tap'
import { type CellMetric, METRIC_NAMES } from '../../../../coordinator/fleet/cells/metrics.ts'
import {
  type Bucket,
  bucketOf,
  mergeInto,
  type Segment,
} from '../../../../coordinator/fleet/series/bucket.ts'
import { CompactSegment } from '../../../../coordinator/fleet/series/compact-segment.ts'

const value = fc.option(fc.integer({ min: 0, max: 100 }))
const sample = fc
  .array(value, { minLength: METRIC_NAMES.length, maxLength: METRIC_NAMES.length })
  .map(values => Object.fromEntries(METRIC_NAMES.map((name, i) => [name, values[i] ?? null])))

t.test('a compact segment holds the same as a map of buckets', async t => {
  const held = fc.check(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 6 }), sample)), added => {
      const compact = new CompactSegment()
      const map: Segment = new Map()
      for (const [n, metrics] of added) {
        const at = 1_700_000_000_000 + n * 10_000
        const bucket = (): Bucket => bucketOf(metrics as Record<CellMetric, number | null>)
        compact.add(at, bucket())
        const known = map.get(at)
        if (known === undefined) map.set(at, bucket())
        else mergeInto(known, bucket())
      }
      const serializeSorted = (entries: Iterable<[number, Bucket]>) =>
        JSON.stringify([...entries].sort(([a], [b]) => a - b))
      return serializeSorted(compact) === serializeSorted(map)
    }),
    { numRuns: 300 },
  )
  t.notOk(held.failed, JSON.stringify(held.counterexample))
})

t.test('a compact segment returns copies', async t => {
  const compact = new CompactSegment()
  const none = Object.fromEntries(METRIC_NAMES.map(name => [name, 7])) as Record<CellMetric, number>
  compact.add(10, bucketOf(none))
  for (const [, bucket] of compact) {
    bucket.values.fill(0)
    bucket.known.fill(0)
  }
  const [[, { values, known } = { values: [], known: [] }] = []] = [...compact]
  t.ok(values.every(one => one === 7) && known.every(count => count === 1))
})
