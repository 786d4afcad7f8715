import { join } from 'node:path'
import { getLlama, LlamaLogLevel } from 'node-llama-cpp'
import t from 'tap'
import { bundledModels } from '../../models/bundled.ts'
import { createAnswerer } from '../../models/evaluation/chat.ts'
import { createEmbedder, similarity } from '../../models/evaluation/embedding.ts'
import { writeRandomModel } from '../../models/gguf/random-model.ts'

const fileOf = (wanted: string): string => {
  const found = bundledModels.find(({ id }) => id === wanted)
  if (found === undefined) throw new Error(`${wanted} is not bundled`)
  return found.file
}

t.test('the real engine', async t => {
  const llama = await getLlama({
    gpu: false,
    build: 'never',
    logLevel: LlamaLogLevel.error,
    maxThreads: 1,
  })
  t.teardown(() => llama.dispose())

  for (const type of ['F16', 'Q8_0'] as const) {
    t.test(`runs a model with random ${type} weights`, async t => {
      const path = join(t.testdir(), 'random.gguf')
      writeRandomModel(path, {
        embeddingLength: 64,
        blockCount: 2,
        headCount: 2,
        headCountKv: 1,
        feedForwardLength: 128,
        vocabularySize: 320,
        contextLength: 256,
        type,
        seed: 3,
      })
      await using model = await llama.loadModel({ modelPath: path })
      await using context = await model.createContext({ contextSize: 256, threads: 1 })
      const sequence = context.getSequence()
      const prompt = model.tokenize('<|im_start|>user\nhello<|im_end|>\n', true)
      let count = 0
      for await (const token of sequence.evaluate(prompt, { temperature: 0 })) {
        t.match(model.detokenize([token]), /^[a-z]+$/)
        if (++count === 40) break
      }
    })
  }

  t.test('computes vectors with a random embedding model', async t => {
    const path = join(t.testdir(), 'embed.gguf')
    writeRandomModel(path, {
      embeddingLength: 96,
      blockCount: 1,
      headCount: 3,
      headCountKv: 1,
      feedForwardLength: 128,
      vocabularySize: 320,
      contextLength: 256,
      type: 'Q8_0',
      seed: 3,
      poolingType: 'mean',
    })
    await using model = await llama.loadModel({ modelPath: path })
    await using embed = await createEmbedder(model)
    t.equal((await embed('hello')).length, 96)
  })

  t.test('the bundled chat models', async t => {
    for (const [id, ask, expected] of [
      ['shoal-demo-large', 'What is a cell?', /machine in the fleet/],
      ['shoal-demo-large', 'How do I start shoal?', /npm ci && npm start/],
      ['shoal-demo-large', 'What does a 429 mean?', /Retry-After/],
      ['shoal-demo-large', 'Is 97 percent VRAM critical?', /97 percent.*critical/],
      ['shoal-demo-large', 'Who painted the ceiling of the old church?', /do not know/],
      ['shoal-demo-large', 'Hello', /^Hello/],
      ['shoal-demo-large', 'What is 17 + 25?', /do not calculate/],
      ['shoal-demo-large', 'Is there a web portal?', /no web portal/],
      ['shoal-demo-small', 'What is a cell?', /machine in the fleet/],
      ['shoal-demo-small', 'Hi!', /^Hello/],
      ['shoal-demo-small', 'What is 2+2?', /do not calculate/],
      ['shoal-demo-small', 'How do I bake a cake?', /do not know/],
    ] as const) {
      t.test(`${id} answers "${ask}"`, async t => {
        await using model = await llama.loadModel({ modelPath: fileOf(id) })
        await using answer = await createAnswerer(model)
        t.match(await answer([{ role: 'user', content: ask }]), expected)
      })
    }
  })

  t.test('the bundled embedding model places a paraphrase nearer than another subject', async t => {
    await using model = await llama.loadModel({ modelPath: fileOf('shoal-demo-embed') })
    await using embed = await createEmbedder(model)
    const question = await embed('What does the Pro tier cost?')
    const paraphrase = await embed('monthly price of the Pro plan')
    const others = [
      await embed('Which formations can a swarm take?'),
      await embed('The cat sleeps on the windowsill.'),
    ]
    for (const other of others) {
      t.ok(similarity(question, paraphrase) > similarity(question, other) + 0.1)
    }
  })
})
