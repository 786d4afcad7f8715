import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { FrameReader, stripPadding } from '../../../../coordinator/gateway/link/frames.ts'
import { type Frame, frame } from './raw-cell.ts'

const framesOf = (pieces: Buffer[]): Frame[] => {
  const frames: Frame[] = []
  const reader = new FrameReader({
    handleFrame: (type, flags, id, bytes, start, end) => {
      frames.push({ type, flags, id, payload: Buffer.from(bytes.subarray(start, end)) })
      return false
    },
  })
  for (const piece of pieces) reader.read(piece)
  return frames
}

const anyFrame: fc.Arbitrary<Frame> = fc
  .tuple(
    fc.integer({ min: 0, max: 255 }),
    fc.integer({ min: 0, max: 255 }),
    fc.integer({ min: 0, max: 2 ** 31 - 1 }),
    fc.uint8Array({ maxLength: 60 }),
  )
  .map(([type, flags, id, bytes]) => ({ type, flags, id, payload: Buffer.from(bytes) }))

t.test('a reader gives the same frames however the bytes are split', async t => {
  const result = fc.check(
    fc.property(
      fc.array(anyFrame),
      fc.infiniteStream(fc.integer({ min: 1, max: 40 })),
      (all, sizes) => {
        const bytes = Buffer.concat(
          all.map(({ type, flags, id, payload }) => frame(type, flags, id, payload)),
        )
        const pieces: Buffer[] = []
        for (let at = 0; at < bytes.length; ) {
          const size = sizes.next().value
          pieces.push(bytes.subarray(at, at + size))
          at += size
        }
        return isDeepStrictEqual(framesOf(pieces), all)
      },
    ),
  )
  t.notOk(result.failed, result.counterexample?.toString() ?? 'no counterexample')
})

t.test('the payload of a frame that arrived in parts is not overwritten', async t => {
  const payloads: Buffer[] = []
  const reader = new FrameReader({
    handleFrame: (_type, _flags, _id, bytes, start, end) => {
      payloads.push(bytes.subarray(start, end))
      return false
    },
  })
  for (const byte of 'abc') {
    const bytes = frame(0, 0, 1, Buffer.from(byte.repeat(100)))
    reader.read(bytes.subarray(0, 50))
    reader.read(bytes.subarray(50))
  }
  t.strictSame(
    payloads.map(payload => payload.toString()),
    ['a'.repeat(100), 'b'.repeat(100), 'c'.repeat(100)],
  )
})

t.test('a frame may have 16 KiB and not one byte more, however it arrives', async t => {
  t.equal(framesOf([frame(0, 0, 1, Buffer.alloc(16_384))]).length, 1)
  const tooLarge = frame(0, 0, 1, Buffer.alloc(16_385))
  t.throws(() => framesOf([tooLarge]), { code: 6 })
  t.throws(() => framesOf([tooLarge.subarray(0, 9)]), { code: 6 })
  t.throws(() => framesOf([tooLarge.subarray(0, 4), tooLarge.subarray(4, 9)]), { code: 6 })
})

t.test('the upper bit of an id is ignored', async t => {
  t.match(framesOf([frame(0, 0, 0x80000003)]), [{ id: 3 }])
})

t.test('a stopped reader emits no further frame, not even of the same piece', async t => {
  let frames = 0
  const reader = new FrameReader({
    handleFrame: () => {
      frames++
      reader.stop()
      return false
    },
  })
  reader.read(
    Buffer.concat([frame(0, 0, 1), frame(0, 0, 1), frame(0, 0, 1, 'aabb').subarray(0, 10)]),
  )
  reader.read(frame(0, 0, 1))
  t.equal(frames, 1)
})

t.test('padding is stripped, and refused when it exceeds the payload', async t => {
  const stripHex = (hex: string) => {
    const bytes = Buffer.from(hex, 'hex')
    const [start, end] = stripPadding(8, bytes, 0, bytes.length)
    return bytes.toString('hex', start, end)
  }
  t.equal(stripHex('02aabbcc0000'), 'aabbcc')
  t.equal(stripHex('00aabbcc'), 'aabbcc')
  t.equal(stripHex('0200 00'.replace(' ', '')), '', 'there may be nothing else')
  t.equal(stripHex('00'), '')
  for (const wrong of ['', '01', '03aabb', 'ffaabb']) t.throws(() => stripHex(wrong), { code: 1 })
})

t.test('a large read is released at once if nobody needs a byte of it, and else stays', async t => {
  const needed = new Set<number>()
  const reader = new FrameReader({ handleFrame: (_type, _flags, id) => !needed.has(id) })
  const frames = [1, 3, 5, 7, 9].map(id => frame(0, 0, id, Buffer.alloc(16_000)))
  const readAll = () => {
    const all = Buffer.concat(frames)
    // a copy in memory of its own, cut within the last frame, as a socket delivers it
    const first = Buffer.from(new Uint8Array(all.subarray(0, 70_000)).buffer)
    reader.read(first)
    reader.read(all.subarray(70_000))
    return first.length
  }
  t.equal(readAll(), 0, 'every byte was copied or dropped')
  needed.add(9)
  t.equal(readAll(), 0, 'the frame that was cut is kept elsewhere')
  needed.add(3)
  t.equal(readAll(), 70_000)
})
