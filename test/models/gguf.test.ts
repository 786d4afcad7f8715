import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { decodeValues, encodeValues, halfBits } from '../../models/gguf/encoding.ts'
import { f32, i32s, text, texts, u32 } from '../../models/gguf/metadata.ts'
import { writeRandomModel } from '../../models/gguf/random-model.ts'
import { readGgufHeader } from '../../models/gguf/reader.ts'
import { writeGguf } from '../../models/gguf/writer.ts'

type RandomModel = Parameters<typeof writeRandomModel>[1]

const tiny: RandomModel = {
  embeddingLength: 64,
  blockCount: 2,
  headCount: 2,
  headCountKv: 1,
  feedForwardLength: 128,
  vocabularySize: 300,
  contextLength: 256,
  type: 'Q8_0',
  seed: 1,
}

t.test('the GGUF writer', async t => {
  t.test('a written file can be read back', async t => {
    const path = join(t.testdir(), 'a.gguf')
    const metadata = { a: u32(7), b: text('grün'), c: texts(['x', 'yy']), d: i32s([-1]), e: f32(2) }
    writeGguf(path, metadata, [
      { name: 'one', type: 'F32', shape: [3], values: () => [Float32Array.of(1, 2, 3)] },
      { name: 'two', type: 'F16', shape: [2, 2], values: () => [new Float32Array(4)] },
    ])
    const header = readGgufHeader(path)
    t.equal(header.version, 3)
    t.strictSame(header.metadata, { a: 7, b: 'grün', c: ['x', 'yy'], d: [-1], e: 2 })
    t.strictSame(header.tensors, [
      { name: 'one', shape: [3], type: 'F32', offset: 0 },
      { name: 'two', shape: [2, 2], type: 'F16', offset: 32 },
    ])
    t.equal(header.dataStart, statSync(path).size - 64)
    t.equal(readFileSync(path).readFloatLE(header.dataStart), 1)
  })

  t.test('a tensor with missing values is refused and leaves no file', async t => {
    const path = join(t.testdir(), 'b.gguf')
    const short = { name: 'short', type: 'F32', shape: [4], values: () => [] } as const
    t.throws(() => writeGguf(path, {}, [short]), /short has 0 bytes, expected 16/)
    t.notOk(existsSync(path))
  })

  for (const [value, bits] of [
    [0, 0x0000],
    [1, 0x3c00],
    [-2, 0xc000],
    [65504, 0x7bff],
    [65536, 0x7c00],
    [2 ** -24, 0x0001],
    [2 ** -26, 0x0000],
  ] as const) {
    t.test(`${value} is ${bits.toString(16)} in half precision`, async t => {
      t.equal(halfBits(value), bits)
    })
  }

  t.test('a Q8_0 block keeps the largest value and the sign', async t => {
    const values = Float32Array.from({ length: 32 }, (_, i) => i - 16)
    const block = encodeValues('Q8_0', values)
    t.equal(block.length, 34)
    t.equal(new Int8Array(block.buffer)[2], -127)
    t.equal(new Int8Array(block.buffer)[33], Math.round((15 / 16) * 127))
  })

  for (const [type, error] of [
    ['F32', 0],
    ['Q8_0', 0.01],
  ] as const)
    t.test(`values in ${type} can be read back, small and negative ones too`, async t => {
      const values = Float32Array.from({ length: 64 }, (_, i) => Math.sin(i) * 10 ** -(i >>> 5))
      const read = decodeValues(type, Buffer.from(encodeValues(type, values)))
      t.equal(read.length, values.length)
      for (const [at, value] of values.entries())
        t.ok(Math.abs((read[at] ?? 9) - value) <= error * 10 ** -(at >>> 5), `${value}`)
    })
})

t.test('the random model', async t => {
  t.test('equal seeds give equal files, and different seeds different ones', async t => {
    const folder = t.testdir()
    const make = (name: string, seed: number): Buffer => {
      writeRandomModel(join(folder, name), { ...tiny, seed })
      return readFileSync(join(folder, name))
    }
    const first = make('1.gguf', 1)
    t.ok(first.equals(make('2.gguf', 1)))
    t.notOk(first.equals(make('3.gguf', 2)))
  })

  for (const [change, message] of [
    [{ embeddingLength: 48 }, /multiples of 32/],
    [{ headCount: 4, headCountKv: 3 }, /do not divide/],
    [{ vocabularySize: 100 }, /259/],
    [{ headCount: 64 }, /even number/],
  ] as const) {
    t.test(`${JSON.stringify(change)} is refused`, async t => {
      const path = join(t.testdir(), 'refused.gguf')
      t.throws(() => writeRandomModel(path, { ...tiny, ...change }), message)
    })
  }
})
