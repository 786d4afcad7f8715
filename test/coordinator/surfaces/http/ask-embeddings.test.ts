import t from 'tap'
import { createEmbeddings } from '../../../../coordinator/surfaces/http/ask-embeddings.ts'
import type { Inference } from '../../../../coordinator/surfaces/http/inference.ts'
import { config, keyOfTier } from '../../../support/app.ts'

const { catalogue } = config()
const by = {
  key: keyOfTier('pro'),
  tenantId: 'home',
  requestId: 'r1',
  signal: new AbortController().signal,
}

/** Embeds each text as its length, in reverse order; or answers with an error. */
const fakeInference = (status = 200, asked: string[][] = []) => {
  const infer: Inference['infer'] = async ({ body, response }) => {
    const { input } = body as { input: string[] }
    asked.push(input)
    const data = input
      .map((text, index) => ({ object: 'embedding', index, embedding: [text.length] }))
      .toReversed()
    const usage = { prompt_tokens: 1, total_tokens: 1 }
    const error = { message: 'no cell serves it', code: 'cell_unavailable' }
    response.writeHead(status, {})
    response.end(
      JSON.stringify(status === 200 ? { object: 'list', data, model: 'm', usage } : { error }),
    )
  }
  return { infer, asked }
}

t.test('texts are embedded in their order, and each is asked for once', async t => {
  const { infer, asked } = fakeInference()
  const fleet = { serves: () => true }
  const embeddings = createEmbeddings({ inference: { infer }, fleet, catalogue })
  t.strictSame(await embeddings.embed('embed-a', ['aaa', 'b', 'aaa'], by), [[3], [1], [3]])
  t.strictSame(await embeddings.embed('embed-a', ['b', 'cc'], by), [[1], [2]])
  t.strictSame(asked, [['aaa', 'b'], ['cc']])
})

t.test('an error is that of a client', async t => {
  const { infer } = fakeInference(503)
  const embeddings = createEmbeddings({
    inference: { infer },
    fleet: { serves: () => true },
    catalogue,
  })
  await t.rejects(embeddings.embed('embed-a', ['x'], by), {
    code: 'cell_unavailable',
    message: 'no cell serves it',
  })
})

t.test('an answer that is not JSON is a fault of the cell', async t => {
  const infer: Inference['infer'] = async ({ response }) => {
    response.writeHead(200, {})
    response.end('<html>')
  }
  const fleet = { serves: () => true }
  const embeddings = createEmbeddings({ inference: { infer }, fleet, catalogue })
  await t.rejects(embeddings.embed('embed-a', ['x'], by), { code: 'cell_unavailable' })
})

t.test('the memory of vectors is limited by their numbers', async t => {
  const asked: string[][] = []
  const infer: Inference['infer'] = async ({ body, response }) => {
    const { input } = body as { input: string[] }
    asked.push(input)
    const embedding = new Array(1_000_000).fill(1)
    const data = input.map((_, index) => ({ object: 'embedding', index, embedding }))
    const usage = { prompt_tokens: 1, total_tokens: 1 }
    response.writeHead(200, {})
    response.end(JSON.stringify({ object: 'list', data, model: 'm', usage }))
  }
  const fleet = { serves: () => true }
  const embeddings = createEmbeddings({ inference: { infer }, fleet, catalogue })
  for (const text of ['a', 'b', 'c', 'c', 'a']) await embeddings.embed('embed-a', [text], by)
  t.strictSame(asked, [['a'], ['b'], ['c'], ['a']])
})

t.test('a model is found when a cell serves it and the tier includes it', async t => {
  const serving = (...ids: string[]) =>
    createEmbeddings({
      inference: fakeInference(),
      fleet: { serves: id => ids.includes(id) },
      catalogue,
    })
  t.equal(serving('embed-b:8b', 'model-a:7b').find(keyOfTier('pro')), 'embed-b:8b')
  t.equal(serving('model-a:7b').find(keyOfTier('pro')), undefined)
  t.equal(serving('embed-a').find(keyOfTier('free')), undefined)
})
