import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { Spool } from '../../../daemon/uplink/spool.ts'
import { TokenBucket } from '../../../daemon/uplink/token-bucket.ts'
import { logger } from '../stand-in.ts'

/** A sample each 5 s for 24 hours. */
const SAMPLES = (24 * 60 * 60) / 5
const CAP_BYTES = 4 * 1024 * 1024

/** About 1 KB, as that of a cell with one GPU. */
const sample = (index: number): string => JSON.stringify({ index, filler: 'x'.repeat(1000) })

const bytesOnDisk = (folder: string): number =>
  readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)

t.test('a cell that is away for 24 hours', async t => {
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
      await spool.settled()
      most = Math.max(most, bytesOnDisk(folder))
    }
  }
  await spool.settled()
  t.ok(most <= CAP_BYTES, `never took more than its share of the disk: ${most} bytes`)

  const kept: number[] = []
  let batches = 0
  for (let batch = await spool.next(); batch; batch = await spool.next()) {
    for (const text of batch.texts) kept.push(JSON.parse(text).index)
    batches++
    spool.done(batch)
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

t.test('what was kept is sent at a steady speed, not at once', async t => {
  const clock = { ms: 0 }
  const bucket = new TokenBucket(1000, () => clock.ms)
  let sent = 0
  while (clock.ms < 60_000) {
    const waitMs = bucket.take(500)
    clock.ms += waitMs
    sent += 500
  }
  t.ok(sent <= 61_500, `${sent} bytes in a minute at 1000 a second`)
})
