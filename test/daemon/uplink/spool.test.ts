import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { decodeRecords, encodeRecord } from '../../../daemon/uplink/records.ts'
import { Spool } from '../../../daemon/uplink/spool.ts'
import { logger } from '../stand-in.ts'

const newFolder = (t: { teardown: (done: () => void) => unknown }): string => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-spool-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const opened: Spool[] = []
t.afterEach(async () => {
  for (const spool of opened.splice(0)) await spool.close()
})

const openSpool = async (folder: string, maxBytes = 64 * 1024): Promise<Spool> => {
  const spool = await Spool.open({ folder, maxBytes, logger })
  opened.push(spool)
  return spool
}

/** One after the other, as a sampler does it. */
const fill = async (spool: Spool, all: string[]): Promise<void> => {
  for (const text of all) {
    spool.append(text)
    await spool.flush()
  }
}

const takeAll = async (spool: Spool): Promise<string[]> => {
  const all: string[] = []
  for (let batch = await spool.next(); batch; batch = await spool.next()) {
    all.push(...batch.texts)
    spool.markDone(batch)
  }
  await spool.flush()
  return all
}

const onDisk = (folder: string): number =>
  readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)

const texts = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => `sample ${from + i}`)

t.test('records', async t => {
  const data = Buffer.concat(['a', '', 'ö'].map(encodeRecord))
  t.strictSame(decodeRecords(data), { texts: ['a', '', 'ö'], bytes: data.length })
  t.strictSame(decodeRecords(data, 1).texts, ['a'])
  for (let length = 0; length < data.length; length++)
    t.ok(decodeRecords(data.subarray(0, length)).texts.length < 3, `torn at ${length}`)
  const flipped = Buffer.from(data)
  flipped.writeUInt8(0, data.length - 1)
  t.strictSame(decodeRecords(flipped).texts, ['a', ''])
  t.strictSame(decodeRecords(Buffer.alloc(32, 0xff)).texts, [])
})

t.test('spool', async t => {
  t.test('keeps the newest records that fit a smaller limit', async t => {
    const folder = newFolder(t)
    const spool = await openSpool(folder)
    await fill(spool, texts(1000))
    spool.limit(8 * 1024)
    await spool.flush()
    t.ok(onDisk(folder) <= 8 * 1024)
    t.ok(spool.dropped > 0)
    await fill(spool, texts(10, 1000))
    t.match((await takeAll(spool)).slice(-10), texts(10, 1000))
    spool.limit(64 * 1024)
    await fill(spool, texts(500))
    t.equal((await takeAll(spool)).length, 500)
  })

  t.test('returns everything in order, in batches', async t => {
    const spool = await openSpool(newFolder(t))
    for (const text of texts(120)) spool.append(text)
    const first = await spool.next()
    t.equal(first?.texts.length, 50)
    const second = await spool.next()
    t.not(second?.id, first?.id)
    t.strictSame([...(first?.texts ?? []), ...(second?.texts ?? [])], texts(100))
    await spool.close()
  })

  t.test('keeps only unacknowledged records for the next process', async t => {
    const folder = newFolder(t)
    const before = await openSpool(folder)
    for (const text of texts(70)) before.append(text)
    const first = await before.next()
    await before.next()
    if (first) before.markDone(first)
    await before.flush()
    const after = await openSpool(folder)
    after.append('new')
    t.strictSame(await takeAll(after), [...texts(20, 50), 'new'])
    t.strictSame(await takeAll(await openSpool(folder)), [])
  })

  t.test('an acknowledgement out of order does not lose the older batch', async t => {
    const folder = newFolder(t)
    const before = await openSpool(folder)
    for (const text of texts(100)) before.append(text)
    await before.next()
    const second = await before.next()
    if (second) before.markDone(second)
    await before.flush()
    t.strictSame((await takeAll(await openSpool(folder))).slice(0, 50), texts(50))
  })

  t.test('a torn tail loses only the torn record', async t => {
    for (const cut of [1, 5, 9]) {
      const folder = newFolder(t)
      const before = await openSpool(folder)
      for (const text of texts(3)) before.append(text)
      await before.close()
      const file = join(folder, readdirSync(folder)[0] ?? '')
      truncateSync(file, statSync(file).size - cut)
      const after = await openSpool(folder)
      after.append('new')
      t.strictSame(await takeAll(after), [...texts(2), 'new'])
    }
  })

  t.test('garbage in its folder is ignored', async t => {
    const folder = newFolder(t)
    const before = await openSpool(folder)
    before.append('a')
    await before.close()
    appendFileSync(join(folder, '0000000001.spool'), 'garbage')
    for (const cursor of ['', '{', '{"segment":-1}', '{"segment":9e15,"offset":0,"record":0}']) {
      writeFileSync(join(folder, 'cursor'), cursor)
      writeFileSync(join(folder, 'note.txt'), 'x')
      const spool = await openSpool(folder)
      t.strictSame((await spool.next())?.texts, ['a'], `cursor ${cursor}`)
    }
  })

  t.test('a full spool drops its oldest records and counts them', async t => {
    const folder = newFolder(t)
    const spool = await openSpool(folder, 4096)
    await fill(spool, texts(1000))
    t.ok(onDisk(folder) <= 4096)
    const dropped = spool.dropped
    const left = await takeAll(spool)
    t.equal(left.length + dropped, 1000)
    t.ok(left.length > 50)
    t.strictSame(left, texts(left.length, dropped))
  })

  t.test('a reduced limit applies from the start', async t => {
    const folder = newFolder(t)
    const before = await openSpool(folder)
    await fill(before, texts(1000))
    await before.close()
    const after = await openSpool(folder, 8192)
    t.ok(onDisk(folder) <= 8192)
    t.ok(after.dropped > 0)
  })

  t.test('refuses new records when it must not drop old ones', async t => {
    const folder = newFolder(t)
    const how = { folder, maxBytes: 4096, makesRoom: 'nothing', batchRecords: 10, logger } as const
    const spool = await Spool.open(how)
    opened.push(spool)
    const kept: string[] = []
    const refused: string[] = []
    for (const text of texts(400))
      await spool.keep(text).then(
        () => kept.push(text),
        () => refused.push(text),
      )
    t.ok(kept.length > 50 && refused.length > 50)
    t.ok(onDisk(folder) <= 4096)
    t.equal(spool.dropped, 0)
    spool.limit(2048)
    const again = await Spool.open(how)
    opened.push(again)
    t.strictSame(await takeAll(again), kept, 'also after a start, and with a smaller bound')
    await again.keep('new')
    t.strictSame(await takeAll(again), ['new'])
  })

  t.test('gives up a batch after the configured number of connections', async t => {
    const folder = newFolder(t)
    const spool = await Spool.open({ folder, maxBytes: 4096, maxAttempts: 5, logger })
    opened.push(spool)
    await spool.keep('a')
    for (let connection = 0; connection < 5; connection++) {
      const batch = await spool.next()
      t.strictSame(batch?.texts, ['a'], `connection ${connection}`)
      if (batch) spool.markSent(batch)
      spool.release()
    }
    t.equal(await spool.next(), undefined)
    t.equal(spool.dropped, 1)
  })

  t.test('records lost to a full disk are counted, and later ones are kept', async t => {
    const folder = newFolder(t)
    let full = true
    const spool = await Spool.open({
      folder,
      maxBytes: 64 * 1024,
      logger,
      append: async (file, data) => {
        await file.appendFile(full ? data.subarray(0, 3) : data)
        if (full) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
      },
    })
    spool.append('lost')
    await spool.flush()
    t.equal(spool.dropped, 1)
    full = false
    spool.append('kept')
    t.strictSame(await takeAll(spool), ['kept'])
    await spool.close()
    t.strictSame(await takeAll(await openSpool(folder)), [])
  })

  t.test('a hanging disk does not accumulate samples without limit', async t => {
    let release = () => {}
    const hang = new Promise<void>(resolve => {
      release = resolve
    })
    const spool = await Spool.open({
      folder: newFolder(t),
      maxBytes: 64 * 1024,
      logger,
      append: () => hang,
    })
    for (const text of texts(300)) spool.append(text)
    t.equal(spool.dropped, 44)
    release()
    await spool.close()
  })

  t.test('a record that exceeds the message size is dropped', async t => {
    const spool = await openSpool(newFolder(t), 8 * 1024 * 1024)
    spool.append('x'.repeat(192 * 1024))
    spool.append('ok')
    t.strictSame(await takeAll(spool), ['ok'])
    t.equal(spool.dropped, 1)
  })

  t.test('a batch whose sending ended three connections is given up', async t => {
    const spool = await openSpool(newFolder(t))
    for (const text of texts(60)) spool.append(text)
    for (const attempt of [0, 1, 2]) {
      const batch = await spool.next()
      t.equal(batch?.attempts, attempt)
      if (batch) spool.markSent(batch)
      spool.release()
    }
    t.equal(spool.dropped, 50)
    t.strictSame(await takeAll(spool), texts(10, 50))
  })

  t.test('a batch that was read but not sent is not blamed', async t => {
    const spool = await openSpool(newFolder(t))
    spool.append('a')
    for (let i = 0; i < 5; i++) {
      await spool.next()
      spool.release()
    }
    t.strictSame(await takeAll(spool), ['a'])
    t.equal(spool.dropped, 0)
  })

  t.test('any history of appends, sends and crashes preserves order and limit', async t => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ append: fc.nat({ max: 1200 }) }) },
      { weight: 3, arbitrary: fc.constant('done' as const) },
      { weight: 1, arbitrary: fc.constant('release' as const) },
      { weight: 1, arbitrary: fc.constant('crash' as const) },
    )
    const { failed, counterexample } = await fc.check(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async steps => {
        const folder = mkdtempSync(join(tmpdir(), 'shoal-spool-'))
        let spool = await Spool.open({ folder, maxBytes: 8192, logger })
        let count = 0
        const got: number[] = []
        for (const step of steps) {
          if (step === 'crash') {
            await spool.flush()
            await spool.close()
            spool = await Spool.open({ folder, maxBytes: 8192, logger })
          } else if (step === 'release') spool.release()
          else if (step === 'done') {
            const batch = await spool.next()
            if (batch) {
              got.push(...batch.texts.map(text => Number.parseInt(text, 10)))
              spool.markDone(batch)
            }
          } else spool.append(`${count++} ${'x'.repeat(step.append)}`)
          await spool.flush()
          if (onDisk(folder) > 8192) return false
        }
        await spool.close()
        rmSync(folder, { recursive: true })
        return got.every((value, i) => i === 0 || value > (got[i - 1] ?? 0))
      }),
      { numRuns: 60 },
    )
    t.notOk(failed, JSON.stringify(counterexample))
  })
})
