import t from 'tap'
import { Blame } from '../../../../coordinator/fleet/routing/health/blame.ts'
import { Breaker } from '../../../../coordinator/fleet/routing/health/breaker.ts'
import {
  estimateQueue,
  estimateSlots,
} from '../../../../coordinator/fleet/routing/health/claims.ts'
import { EngineHealth } from '../../../../coordinator/fleet/routing/health/engine-health.ts'
import {
  firstByteLimitMs,
  silenceLimitMs,
} from '../../../../coordinator/fleet/routing/health/time-limits.ts'

/** A breaker without randomness, opened at the time 0. */
const openBreaker = (): Breaker => {
  const breaker = new Breaker(() => 0.5)
  for (let failures = 0; failures < 3; failures++) breaker.noteFault(0, 0)
  return breaker
}

t.test('a breaker opens after three failures in a row, and not after two', async t => {
  const breaker = new Breaker()
  breaker.noteFault(0, 0)
  breaker.noteFault(0, 0)
  t.equal(breaker.state(0), 'closed')
  breaker.noteFault(0, 0)
  t.equal(breaker.state(0), 'open')
})

t.test('a breaker opens after one silence', async t => {
  const breaker = new Breaker()
  breaker.noteFault(0, 0, true)
  t.equal(breaker.state(0), 'open')
})

t.test('a breaker opens when half of many requests fail, and not when a fifth does', async t => {
  for (const [every, isClosed] of [
    [2, false],
    [5, true],
  ] as const) {
    const breaker = new Breaker()
    for (let request = 1; request <= 100 && breaker.isClosed; request++)
      if (request % every === 0) breaker.noteFault(0, 0)
      else breaker.noteServed(0)
    t.equal(breaker.isClosed, isClosed, `every ${every}`)
  }
})

t.test('a half-open breaker lets one request through, whose outcome decides', async t => {
  const breaker = openBreaker()
  t.ok(breaker.blocks(999))
  t.notOk(breaker.blocks(1000))
  t.equal(breaker.state(1000), 'half_open')
  breaker.noteSent(1000)
  t.ok(breaker.blocks(1001), 'one at a time')
  breaker.noteServed(1000)
  t.equal(breaker.state(1001), 'closed')
  breaker.noteFault(1002, 1002)
  t.equal(breaker.pauseMs(1002), 2000, 'the next pause is twice as long')
})

t.test('a probe that fails doubles the pause up to a minute', async t => {
  const breaker = openBreaker()
  let now = 0
  const pauses: number[] = []
  for (let probe = 0; probe < 8; probe++) {
    pauses.push(breaker.pauseMs(now))
    now += breaker.pauseMs(now)
    breaker.noteSent(now)
    breaker.noteFault(now, now)
  }
  t.strictSame(pauses, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
})

t.test('requests that were sent before a breaker opened decide nothing', async t => {
  const breaker = openBreaker()
  breaker.noteFault(-1, 500)
  breaker.noteServed(-1)
  breaker.noteNothing(-1, 500)
  t.equal(breaker.pauseMs(500), 500)
})

t.test('a probe that tells nothing is followed by another one', async t => {
  const breaker = openBreaker()
  breaker.noteSent(1000)
  breaker.noteNothing(1000, 1500)
  t.notOk(breaker.blocks(1500))
  breaker.noteSent(1500)
  t.ok(breaker.blocks(31_000))
  t.notOk(breaker.blocks(31_500), 'an answer that lasts for minutes holds up nothing')
})

t.test('unanswered requests of one key count against two cells a minute at most', async t => {
  const blame = new Blame()
  t.strictSame(
    ['a', 'b', 'a', 'c', 'a', 'd'].map(cell => blame.countsAgainstCell('k', cell, 0)),
    [true, true, true, false, false, false],
  )
  t.ok(blame.countsAgainstCell('other', 'c', 0))
  t.ok(blame.countsAgainstCell('k', 'c', 60_000))
})

t.test('a cell that claims a million slots is believed as many as it has proven', async t => {
  t.equal(estimateSlots(8, undefined), 8)
  t.equal(estimateSlots(1_000_000, undefined), 64)
  const health = new EngineHealth()
  health.noteServed(0, 200, undefined)
  t.equal(estimateSlots(1_000_000, health), 400)
  t.equal(estimateQueue(1_000_000, 8), 128)
  t.equal(estimateQueue(undefined, 8), undefined)
})

const served = (firstByteMs: number | undefined, durationMs: number, uncachedBytes = 100) => ({
  firstByteMs,
  durationMs,
  uncachedBytes,
  tokens: 120,
  generatedTokens: 100,
})

t.test(
  'the limit of the first byte follows the own figures of the engine, within bounds',
  async t => {
    const stream = { requestBytes: 100, isStream: true, mostTokens: 2048, load: 1 }
    const whole = { ...stream, isStream: false }
    t.equal(firstByteLimitMs(undefined, stream), 120_000)
    t.equal(firstByteLimitMs(undefined, whole), 300_000)
    const fast = new EngineHealth()
    for (let answer = 0; answer < 50; answer++) fast.noteServed(0, 1, served(100, 1100))
    t.equal(firstByteLimitMs(fast, stream), 30_000, 'never below the floor')
    const peers = () => [new EngineHealth(), fast]
    t.equal(firstByteLimitMs(undefined, stream, peers), 30_000, 'others of the model have figures')
    const slow = new EngineHealth()
    for (let answer = 0; answer < 50; answer++)
      slow.noteServed(0, 1, served(10_000, 30_000, 50_000))
    t.equal(
      firstByteLimitMs(undefined, stream, () => [slow]),
      120_000,
      'within the bound for none',
    )
    const usual = firstByteLimitMs(slow, stream)
    t.ok(usual > 4 * 10_000 && usual < 300_000, `${usual} ms`)
    t.ok(
      firstByteLimitMs(slow, { ...stream, requestBytes: 20_000 }) > usual,
      'long prompts get more',
    )
    t.equal(firstByteLimitMs(slow, { ...stream, requestBytes: 1e9 }), 300_000)
    t.ok(
      firstByteLimitMs(slow, whole) > 4 * 2048 * 200 * 0.3,
      'whole answers get time for all tokens',
    )
    t.equal(firstByteLimitMs(slow, { ...whole, mostTokens: Number.POSITIVE_INFINITY }), 600_000)
    t.equal(silenceLimitMs(fast, 1), 90_000, 'longer than a daemon waits for a step')
    t.equal(silenceLimitMs(slow, 1e9), 120_000)
  },
)

t.test(
  'a slow engine gets the time for a prompt that is longer than those it has read',
  async t => {
    const long = { requestBytes: 100_000, isStream: true, mostTokens: 4096, load: 1 }
    for (const [title, uncachedBytes] of [
      ['short prompts', 300],
      ['long prompts that were mostly cached', 3000],
    ] as const) {
      const health = new EngineHealth()
      for (let answer = 0; answer < 50; answer++)
        health.noteServed(0, 1, served(100 + uncachedBytes / 0.4, 20_000, uncachedBytes))
      t.ok(firstByteLimitMs(health, long) >= 250_000, `served ${title}`)
      t.ok(firstByteLimitMs(health, { ...long, isStream: false }) >= 250_000)
      t.ok(firstByteLimitMs(health, { ...long, requestBytes: 1000 }) < 200_000)
    }
    t.ok(firstByteLimitMs(undefined, long) >= 250_000, 'served nothing')
  },
)

t.test('a prompt that was cut gives the next one more time', async t => {
  const long = { requestBytes: 20_000, isStream: true, mostTokens: 4096, load: 1 }
  const health = new EngineHealth()
  for (let answer = 0; answer < 50; answer++) health.noteServed(0, 1, served(400, 5000, 20_000))
  const beforeMs = firstByteLimitMs(health, long)
  health.noteCut(long.requestBytes, beforeMs)
  t.ok(firstByteLimitMs(health, long) >= 2 * beforeMs)
  const short = { ...long, requestBytes: 1000 }
  const shortMs = firstByteLimitMs(health, short)
  health.noteCut(short.requestBytes, 300_000)
  t.equal(firstByteLimitMs(health, short), shortMs, 'a short one does not')
  for (let answer = 0; answer < 500; answer++) health.noteServed(0, 1, served(400, 5000, 20_000))
  t.ok(firstByteLimitMs(health, long) <= beforeMs, 'nor does one of long ago')
})

t.test('an engine that becomes much slower than its own history is reported as slow', async t => {
  const health = new EngineHealth()
  for (let answer = 0; answer < 50; answer++) health.noteServed(0, 1, served(undefined, 1000))
  t.notOk(health.isSlow)
  for (let answer = 0; answer < 50; answer++) health.noteServed(0, 1, served(undefined, 9000))
  t.ok(health.isSlow)
})

t.test('a few answers, and an unusual first one, do not make an engine slow', async t => {
  const engine = new EngineHealth()
  // all of the first answer came at once
  engine.noteServed(0, 1, served(1000, 1014))
  for (let answer = 1; answer < 200; answer++) {
    engine.noteServed(0, 1, served(100, 3100))
    if (engine.isSlow) t.fail(`slow after ${answer} answers`)
  }
  t.equal(engine.isSlow, false)
})
