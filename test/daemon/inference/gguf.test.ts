import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkGguf } from '../../../daemon/inference/gguf.ts'
import { tensorBytes } from '../../../daemon/inference/gguf-tensors.ts'
import { writeRandomModel } from '../../../models/gguf/random-model.ts'
import { HOSTILE, SMALL } from './fixtures.ts'

t.test('the pre-check of weights', async t => {
  const folder = t.testdir()
  const good = join(folder, 'good.gguf')
  writeRandomModel(good, { ...SMALL, poolingType: 'mean' })
  const bytes = readFileSync(good)

  t.test('describes a valid file', async t => {
    const { chatTemplate, ...facts } = await checkGguf(good)
    t.match(chatTemplate, /im_start/)
    t.strictSame(facts, {
      architecture: 'llama',
      contextLength: SMALL.contextLength,
      embeddingLength: SMALL.embeddingLength,
      blockCount: SMALL.blockCount,
      headCount: SMALL.headCount,
      headCountKv: SMALL.headCountKv,
      keyLength: undefined,
      valueLength: undefined,
      vocabularySize: SMALL.vocabularySize,
      poolingType: 1,
      fileType: 7,
      name: 'random weights',
      licence: undefined,
      licenceUrl: undefined,
      tensorCount: 12,
      // embeddings and output, attention with half as many keys and values, feed-forward, norms
      parameterCount: 2 * 512 * 64 + 3 * 64 * 64 + 3 * 64 * 64 + 3 * 64,
      fileBytes: bytes.length,
    })
  })

  for (const [title, make] of Object.entries(HOSTILE)) {
    t.test(`refuses a file with ${title}`, async t => {
      const path = join(folder, 'hostile.gguf')
      writeFileSync(path, make(bytes))
      await t.rejects(checkGguf(path), { name: 'GgufError' })
    })
  }

  t.test('refuses a file that is cut off at any byte', async t => {
    const headerEnd = bytes.length - (await dataBytes(good))
    const path = join(folder, 'cut.gguf')
    const accepted: number[] = []
    const otherErrors: unknown[] = []
    const lengths = [...Array(headerEnd).keys()].filter(length => length < 600 || length % 97 === 0)
    for (const length of [...lengths, headerEnd, bytes.length - 1]) {
      writeFileSync(path, bytes.subarray(0, length))
      await checkGguf(path).then(
        () => accepted.push(length),
        error => error.name !== 'GgufError' && otherErrors.push(error),
      )
    }
    t.strictSame({ accepted, otherErrors }, { accepted: [], otherErrors: [] })
  })

  t.test('refuses anything but a regular file', async t => {
    await t.rejects(checkGguf(folder), { message: 'it is not a regular file' })
    await t.rejects(checkGguf('/dev/zero'), { message: 'it is not a regular file' })
    await t.rejects(checkGguf(join(folder, 'absent')), { message: 'the file is not there' })
  })

  t.test('reads little of a large file', async t => {
    const path = join(folder, 'sparse.gguf')
    writeFileSync(path, bytes)
    const file = openSync(path, 'r+')
    writeSync(file, Buffer.alloc(1), 0, 1, 2 ** 34)
    closeSync(file)
    t.equal((await checkGguf(path)).fileBytes, 2 ** 34 + 1)
  })
})

t.test('the size of a tensor follows from its type and shape', async t => {
  const tensor = (type: number, shape: number[]) => ({ name: 'x', type, shape, offset: 0 })
  t.equal(tensorBytes(tensor(0, [3, 2])), 24)
  t.equal(tensorBytes(tensor(8, [64, 2])), 136)
  t.equal(tensorBytes(tensor(999, [64, 2])), 1, 'at least one byte of a type that is not known')
  t.throws(() => tensorBytes(tensor(8, [33])), { name: 'GgufError' })
  t.throws(() => tensorBytes(tensor(0, [2 ** 40, 2 ** 40])), { name: 'GgufError' })
  t.throws(() => tensorBytes(tensor(0, [0])), { name: 'GgufError' })
})

const dataBytes = async (path: string): Promise<number> => {
  const { fileBytes } = await checkGguf(path)
  const start = readFileSync(path).lastIndexOf('output.weight')
  return fileBytes - start
}
