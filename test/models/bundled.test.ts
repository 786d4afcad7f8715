import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { bundledModels } from '../../models/bundled.ts'
import { readGgufHeader } from '../../models/gguf/reader.ts'

t.test('the bundled models', async t => {
  t.test('there are two chat models and one embedding model', async t => {
    t.strictSame(
      bundledModels.map(({ id, kind }) => [id, kind]),
      [
        ['shoal-demo-large', 'chat'],
        ['shoal-demo-small', 'chat'],
        ['shoal-demo-embed', 'embedding'],
      ],
    )
  })

  for (const model of bundledModels) {
    t.test(`${model.id} is the file that the list describes`, async t => {
      const content = readFileSync(model.file)
      t.equal(createHash('sha256').update(content).digest('hex'), model.sha256)
      t.equal(content.length, model.bytes)
    })

    t.test(`${model.id} has as many parameters as the list says`, async t => {
      const { metadata, tensors } = readGgufHeader(model.file)
      const parameters = tensors.reduce(
        (sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1),
        0,
      )
      t.equal(parameters, model.parameters)
      t.equal(metadata['llama.context_length'], model.contextLength)
      t.equal(model.contextLength, 2048)
    })
  }

  t.test('the chat models take at most 4 MB, the embedding model at most 2 MB', async t => {
    const bytes = (kind: string): number =>
      bundledModels.filter(model => model.kind === kind).reduce((sum, { bytes }) => sum + bytes, 0)
    t.ok(bytes('chat') <= 4_000_000, `${bytes('chat')} bytes`)
    t.ok(bytes('embedding') <= 2_000_000, `${bytes('embedding')} bytes`)
  })

  t.test('no token joins a digit with anything else', async t => {
    for (const { file } of bundledModels) {
      const tokens = readGgufHeader(file).metadata['tokenizer.ggml.tokens'] as string[]
      t.strictSame(
        tokens.filter(token => token.length > 1 && /[0-9]/.test(token)),
        [],
      )
    }
  })
})
