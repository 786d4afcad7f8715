import { join } from 'node:path'
import t from 'tap'
import { writeRandomModel } from '../../../models/gguf/random-model.ts'
import { SMALL } from './fixtures.ts'
import { call, startInferenceServer, startService, waitUntilSettled } from './peers.ts'

const folder = t.testdir()
const ranking = join(folder, 'ranking.gguf')
const plain = join(folder, 'plain.gguf')
writeRandomModel(ranking, { ...SMALL, ranks: true })
writeRandomModel(plain, SMALL)

const documents = ['the cat sat', 'a coordinator routes requests', 'rain in march', 'x']

t.test('a cell with a reranker', async t => {
  const service = await startService(t, [
    { id: 'ranks', weights: ranking, kind: 'rerank', context_length: 256 },
    { id: 'writes', weights: plain, kind: 'rerank', context_length: 256 },
  ])
  await waitUntilSettled(service)
  const port = await startInferenceServer(t, service)
  const rank = (more: object = {}) =>
    call(port, 'POST', '/v1/rerank', {
      model: 'ranks',
      query: 'what is a cell',
      documents,
      ...more,
    })

  t.test('scores every document, the most relevant first', async t => {
    const { status, json, usage } = await rank()
    t.equal(status, 200)
    t.match(json, { object: 'list', model: 'ranks', id: /^rerank-/ })
    const scores = json.results.map((each: { relevance_score: number }) => each.relevance_score)
    t.strictSame(json.results.map((each: { index: number }) => each.index).toSorted(), [0, 1, 2, 3])
    t.strictSame(
      scores,
      scores.toSorted((a: number, b: number) => b - a),
    )
    t.ok(new Set(scores).size > 1 && scores.every((score: number) => score > 0 && score < 1))
    t.ok(json.usage.total_tokens > 0)
    t.match(usage, { prompt_tokens: json.usage.prompt_tokens, completion_tokens: 0 })
    t.strictSame((await rank()).json.results, json.results, 'the same again')
    const alone = await rank({ documents: [documents[2]] })
    const { relevance_score } = json.results.find((each: { index: number }) => each.index === 2)
    t.equal(alone.json.results[0].relevance_score, relevance_score, 'whatever stands beside it')
    t.match(service.reports()[0], { kind: 'rerank', slots_busy: 0, queued: 0 })
  })

  t.test('returns as many results as asked for, with their documents', async t => {
    const texts = documents.map(text => ({ text }))
    const { json } = await rank({ documents: texts, top_n: 2, return_documents: true })
    t.equal(json.results.length, 2)
    for (const { index, document } of json.results) t.strictSame(document, texts[index])
    t.equal((await rank({ top_n: 9 })).json.results.length, 4)
  })

  t.test('refuses what it cannot rank', async t => {
    for (const [more, code, param] of [
      [{ documents: ['short', 'word '.repeat(400)] }, 'context_length_exceeded', 'documents.1'],
      [{ query: 'word '.repeat(400) }, 'context_length_exceeded', 'documents.0'],
      [{ query: 'x'.repeat(1_000_000) }, 'context_length_exceeded', 'query'],
      [{ documents: [] }, 'invalid_request', 'documents'],
      [{ documents: [{ image: 'x' }] }, 'invalid_request', 'documents.0'],
    ] as const) {
      const { status, json } = await rank(more)
      t.equal(status, code === 'context_length_exceeded' ? 400 : 422)
      t.match(json.error, { code, param })
    }
    const chat = { model: 'ranks', messages: [{ role: 'user', content: 'hi' }] }
    t.match((await call(port, 'POST', '/v1/chat/completions', chat)).json.error, {
      code: 'invalid_model',
    })
  })

  t.test('says that weights without a ranking head cannot rank', async t => {
    t.match(service.reports()[1], { state: 'failed', reason: /no ranking head/ })
  })
})
