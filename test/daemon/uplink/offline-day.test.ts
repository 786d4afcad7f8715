import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { drain } from '../../../daemon/uplink/drain.ts'
import { type Batch, Spool } from '../../../daemon/uplink/spool.ts'
import { TokenBucket } from '../../../shared/token-bucket.ts'
import { logger } from '../stand-in.ts'

/** A bucket of so many bytes a second, with a burst of one second. */
const createBucket = (amount: number, clock: { ms: number }): TokenBucket =>
  new TokenBucket({ amount, perMs: 1000, burst: amount }, () => clock.ms)

/** A sample each 5 s for 24 hours. */
const SAMPLES = (24 * 60 * 60) / 5
const CAP_BYTES = 4 * 1024 * 1024

/** Sample of about 1 KB, as of a cell with one GPU. */
const sample = (index: number): string => JSON.stringify({ index, filler: 'x'.repeat(1000) })

const bytesOnDisk = (folder: string): number =>
  readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)

t.test('a cell that is offline for 24 hours', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-day-'))
  const spool = await Spool.open({ folder, maxBytes: CAP_BYTES, logger })
  t.teardown(async () => {
    await spool.close()
    rmSync(folder, { recursive: true, force: true })
  })

  let most = 0
  for (let index = 0; index < SAMPLES; index++) {
    spool.append(sample(index))
    if (index % 100 === 99) {
      await spool.flush()
      most = Math.max(most, bytesOnDisk(folder))
    }
  }
  await spool.flush()
  t.ok(most <= CAP_BYTES, `never took more than its share of the disk: ${most} bytes`)

  const kept: number[] = []
  let batches = 0
  for (let batch = await spool.next(); batch; batch = await spool.next()) {
    for (const text of batch.texts) kept.push(JSON.parse(text).index)
    batches++
    spool.markDone(batch)
  }
  t.equal(kept.length + spool.dropped, SAMPLES, 'every sample was kept or counted')
  t.strictSame(
    kept,
    kept.toSorted((a, b) => a - b),
    'the oldest comes first',
  )
  t.equal(kept.at(-1), SAMPLES - 1, 'the newest is there')
  t.equal(kept[0], spool.dropped, 'only the oldest made way')
  t.comment(`${kept.length} of ${SAMPLES} kept in ${batches} messages`)
})

/** Results of commands, one a minute; findings are kept in the same way. */
const MINUTES = 24 * 60
const RATE_BYTES = 32 * 1024
/** Longest time between two connections after which everything is sent. */
const WINDOW_MS = 10_000

t.test('all durable messages survive 24 hours and are sent at a steady rate', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-day-'))
  const open = (name: string, how: object) =>
    Spool.open({ folder: join(folder, name), maxBytes: CAP_BYTES / 4, logger, ...how })
  const kept = { makesRoom: 'nothing', batchRecords: 10, maxAttempts: 20 } as const
  const acks = await open('acks', kept)
  const findings = await open('findings', kept)
  const history = await open('history', {})
  const spools = { acks, findings, history }
  t.teardown(async () => {
    for (const spool of Object.values(spools)) await spool.close()
    rmSync(folder, { recursive: true, force: true })
  })

  for (let minute = 0; minute < MINUTES; minute++) {
    await acks.keep(JSON.stringify({ index: minute, filler: 'a'.repeat(400) }))
    await findings.keep(JSON.stringify({ index: minute, filler: 'f'.repeat(300) }))
    for (let i = 0; i < 12; i++) history.append(sample(minute * 12 + i))
    await history.flush()
  }

  const clock = { ms: 0 }
  const bucket = createBucket(RATE_BYTES, clock)
  const got: Record<string, number[]> = { acks: [], findings: [], history: [] }
  const sent: { ms: number; bytes: number; name: string }[] = []
  /** The first three connections end in the middle of each class. */
  const connections = { count: 0, batches: 0 }
  const connect = async (): Promise<void> => {
    connections.count++
    connections.batches = 0
    for (const [name, spool] of Object.entries(spools)) {
      const send = async (batch: Batch): Promise<void> => {
        if (connections.count <= 3 && ++connections.batches > 30) throw new Error('it ended')
        sent.push({ ms: clock.ms, bytes: batch.bytes, name })
        for (const text of batch.texts) got[name]?.push(JSON.parse(text).index)
      }
      const wait = async (ms: number): Promise<void> => {
        clock.ms += ms
      }
      await drain({ spool, send, bucket, wait, signal: new AbortController().signal })
    }
  }
  for (let over = false; !over; )
    over = await connect().then(
      () => true,
      () => {
        for (const spool of Object.values(spools)) spool.release()
        clock.ms += WINDOW_MS
        return false
      },
    )

  const sortUnique = (indexes: number[]) => [...new Set(indexes)].sort((a, b) => a - b)
  const createRange = (count: number, from = 0) => Array.from({ length: count }, (_, i) => from + i)
  t.equal(connections.count, 4)
  t.strictSame(sortUnique(got.acks ?? []), createRange(MINUTES), 'every ack')
  t.strictSame(sortUnique(got.findings ?? []), createRange(MINUTES), 'every finding')
  t.equal(acks.dropped + findings.dropped, 0)
  t.ok(history.dropped > SAMPLES / 2, 'samples made way')
  const late = sortUnique(got.history ?? [])
  t.strictSame(
    late,
    createRange(SAMPLES - history.dropped, history.dropped),
    'the newest, all counted',
  )
  const firstSample = sent.findIndex(({ name }) => name === 'history')
  const lastAck = sent.findLastIndex(({ name }) => name === 'acks')
  t.ok(lastAck < firstSample, 'acks go first')

  const largest = Math.max(...sent.map(({ bytes }) => bytes))
  for (const { ms: from } of sent) {
    const inOneSecond = sent.filter(({ ms }) => ms >= from && ms < from + 1000)
    const bytes = inOneSecond.reduce((sum, one) => sum + one.bytes, 0)
    if (bytes > 2 * RATE_BYTES + largest) t.fail(`${bytes} bytes in the second from ${from} ms`)
  }
  t.ok(clock.ms < 600_000, `everything is sent within ten minutes: ${Math.round(clock.ms)} ms`)
})

t.test('stored samples are sent at a steady rate', async t => {
  const clock = { ms: 0 }
  const bucket = createBucket(1000, clock)
  let sent = 0
  while (clock.ms < 60_000) {
    const waitMs = bucket.take(500)
    clock.ms += waitMs
    sent += 500
  }
  t.ok(sent <= 61_500, `${sent} bytes in a minute at 1000 a second`)
})
