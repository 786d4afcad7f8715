import t from 'tap'
import { backOffMs } from '../../shared/back-off.ts'
import { TokenBucket } from '../../shared/token-bucket.ts'

t.test('a pause grows by its factor up to its bound, times a random multiplier', async t => {
  const steps = { firstMs: 10_000, factor: 4, maxMs: 100_000 }
  const pauses = (jitter: readonly [number, number], random: number) =>
    [0, 1, 2, 2000].map(retry => backOffMs({ ...steps, jitter }, retry, () => random))
  t.strictSame(pauses([0.5, 1], 0), [5000, 20_000, 50_000, 50_000])
  t.strictSame(pauses([0.5, 1], 0.5), [7500, 30_000, 75_000, 75_000])
  t.strictSame(pauses([0.5, 1.5], 0.5), [10_000, 40_000, 100_000, 100_000])
  t.strictSame(
    [0, 1, 5, 6].map(retry => backOffMs({ firstMs: 1000, maxMs: 60_000 }, retry)),
    [1000, 2000, 32_000, 60_000],
    'doubled, without a random part',
  )
})

t.test('a bucket allows the burst, then the rate, and no more after a rest', async t => {
  let now = 0
  const bucket = new TokenBucket({ amount: 1000, perMs: 1000, burst: 500 }, () => now)
  t.equal(bucket.take(500), 0)
  t.equal(bucket.waitMs(100), 100)
  t.equal(bucket.take(100), 100, 'taken ahead')
  now = 50
  bucket.give(20)
  t.equal(bucket.take(0), 30)
  now = 60_000
  t.ok(bucket.isFull)
  t.equal(bucket.take(501), 1)
  now = 59_000
  t.equal(bucket.waitMs(0), 1, 'a clock that was set back')
  now = 59_001
  t.equal(bucket.waitMs(0), 0)
  bucket.setRate({ amount: 1, perMs: 3000, burst: 1 })
  t.equal(bucket.waitMs(1), 3000)
})
