import assert from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { HeldPieces } from '../../../../coordinator/fleet/questions/held-pieces.ts'

t.test('held pieces are returned unchanged, whatever their sizes', async t => {
  const sizes = fc.oneof(
    fc.integer({ min: 0, max: 40 }),
    fc.integer({ min: 4000, max: 4200 }),
    fc.integer({ min: 0, max: 20_000 }),
  )
  const property = fc.property(
    fc.array(fc.array(sizes, { maxLength: 30 }), { maxLength: 3 }),
    rounds => {
      const held = new HeldPieces()
      let next = 0
      for (const round of rounds) {
        const pieces = round.map(size => Buffer.from(Array.from({ length: size }, () => next++)))
        const all = Buffer.concat(pieces)
        for (const piece of pieces) held.add(piece)
        assert.equal(held.bytes, all.length)
        assert.equal(held.lastByte, all.at(-1))
        assert.ok(held.toBuffer().equals(all))
        const last = Buffer.from('last')
        assert.ok(held.toBuffer(last).equals(Buffer.concat([all, last])))
        held.clear()
        assert.equal(held.bytes, 0)
        assert.equal(held.lastByte, undefined)
      }
    },
  )
  t.doesNotThrow(() => fc.assert(property, { numRuns: 50 }))
})

t.test('a single piece is returned without a copy', async t => {
  const held = new HeldPieces()
  const piece = Buffer.from('all of it')
  held.add(piece)
  t.equal(held.toBuffer(), piece)
})

/** Bytes that a function leaves in memory. */
const countBytes = async (fill: () => void): Promise<number> => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const used = async () => {
    gc()
    await new Promise(setImmediate)
    gc()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const before = await used()
  fill()
  return (await used()) - before
}

t.test('small pieces use about their own size in memory, not that of their buffers', async t => {
  const held = new HeldPieces()
  const used = await countBytes(() => {
    for (let i = 0; i < 50_000; i++) held.add(Buffer.allocUnsafeSlow(1000).subarray(0, 2))
  })
  t.equal(held.bytes, 100_000)
  t.ok(used < 10 * held.bytes, `${used} bytes for ${held.bytes}`)
})

t.test('answers that share the reads of a link keep their own bytes only', async t => {
  const kept = new HeldPieces()
  const readBytes = 64 * 1024
  const pieceBytes = readBytes / 4
  const used = await countBytes(() => {
    for (let i = 0; i < 256; i++)
      kept.add(Buffer.allocUnsafeSlow(readBytes).subarray(0, pieceBytes))
  })
  t.ok(used < 1.5 * kept.bytes, `${used} bytes for ${kept.bytes}`)
})

t.test(
  'a cleared answer releases its memory at once, and what was shifted stays whole',
  async t => {
    const held = new HeldPieces()
    const fill = () => {
      for (let i = 0; i < 256; i++) held.add(Buffer.alloc(16 * 1024, i))
    }
    fill()
    held.shift()
    const block = held.shift() as Buffer
    const copy = Buffer.from(block)
    const before = process.memoryUsage().arrayBuffers
    const { bytes } = held
    held.clear()
    const released = before - process.memoryUsage().arrayBuffers
    t.ok(released >= 0.9 * bytes, `${released} of ${bytes} bytes`)
    t.ok(block.equals(copy))
    fill()
    t.equal(held.toBuffer().length, 256 * 16 * 1024)
  },
)
