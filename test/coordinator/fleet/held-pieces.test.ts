import assert from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { HeldPieces } from '../../../coordinator/fleet/held-pieces.ts'

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

t.test('small pieces use about their own size in memory, not that of their buffers', async t => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const held = new HeldPieces()
  const pieces = 50_000
  const used = async () => {
    gc()
    await new Promise(setImmediate)
    gc()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const before = await used()
  for (let i = 0; i < pieces; i++) held.add(Buffer.allocUnsafeSlow(1000).subarray(0, 2))
  const after = await used()
  t.equal(held.bytes, pieces * 2)
  t.ok(after - before < 10 * held.bytes, `${after - before} bytes for ${held.bytes}`)
})
