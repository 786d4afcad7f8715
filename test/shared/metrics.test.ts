import fc from 'fast-check'
import t from 'tap'
import { Histogram } from '../../shared/metrics/histogram.ts'
import { Tally, toMetricValues } from '../../shared/metrics/metric.ts'

t.test('a histogram counts a value up to every bound that is not below it', async t => {
  const histogram = new Histogram([1, 2])
  for (const value of [0, 1, 1.1, 2, 3]) histogram.observe(value)
  t.strictSame(histogram.toCumulative(), [2, 4, 5])
  t.match([histogram.sum, histogram.count], [7.1, 5])
  t.strictSame(toMetricValues({ a: 'b' }, histogram), [
    { labels: { a: 'b', le: '1' }, value: 2, suffix: '_bucket' },
    { labels: { a: 'b', le: '2' }, value: 4, suffix: '_bucket' },
    { labels: { a: 'b', le: '+Inf' }, value: 5, suffix: '_bucket' },
    { labels: { a: 'b' }, value: 7.1, suffix: '_sum' },
    { labels: { a: 'b' }, value: 5, suffix: '_count' },
  ])
})

t.test('a histogram agrees with counting by hand, for any values', async t => {
  const bounds = [0.5, 1, 10]
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 20, noNaN: true })), values => {
      const histogram = new Histogram(bounds)
      for (const value of values) histogram.observe(value)
      const countUpTo = (bound: number) => values.filter(value => value <= bound).length
      t.strictSame(histogram.toCumulative(), [...bounds.map(countUpTo), values.length])
    }),
  )
})

t.test('a tally counts per combination of label values', async t => {
  const tally = new Tally()
  tally.add(['a', 'b'])
  tally.add(['a', 'b'], 2)
  tally.add(['a', 'c'])
  t.strictSame(tally.read(['x', 'y']), [
    { labels: { x: 'a', y: 'b' }, value: 3 },
    { labels: { x: 'a', y: 'c' }, value: 1 },
  ])
})
