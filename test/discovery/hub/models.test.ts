import t from 'tap'
import type { AiBenchmarks } from '../../../discovery/modules/ai_ml/ai-benchmarks.ts'
import type { HubModels } from '../../../discovery/modules/ai_ml/hub-models.ts'
import type { PreprintSearch } from '../../../discovery/modules/ai_ml/preprint-search.ts'
import type { PullRecommendation } from '../../../discovery/modules/ai_ml/runtime-pull-recommend.ts'
import { estimateMemory } from '../../../discovery/runs/ai_ml/sizing/estimate-memory.ts'
import type { SourceRequest } from '../../support/upstream-server.ts'
import { runLookup } from '../../support/upstreams.ts'

t.test('models of the hub are listed with what their tags say', async t => {
  const input = { limit: 5, task: 'chat' }
  const options = { answers: { hf: 'good.json' } } as const
  const { data, server, warnings } = await runLookup<HubModels>(t, 'hub-models', input, options)
  t.match(data.models[0], {
    id: 'muster-org/Tiny-7B-GGUF',
    name: 'Tiny-7B-GGUF',
    gated: 'manual',
    licence: 'apache-2.0',
    parameters: 7_248_023_552,
    context_length: 32_768,
    formats: ['gguf'],
    base_model: 'muster-org/Tiny-7B',
  })
  t.match(data.models[1], { author: '', gated: 'no', downloads_30d: 0, licence: null })
  t.match(warnings, [{ code: 'unparsed_record' }])
  t.match(server.requests[0]?.path, /pipeline_tag=text-generation&filter=conversational/)
})

t.test('leaderboards say their unit, and one that fails leaves the others', async t => {
  const answers = {
    hf: ({ path }: SourceRequest) => (path.includes('SWE-bench') ? 'leaderboard.json' : 'html'),
    aider: 'good.yml',
  } as const
  const { data } = await runLookup<AiBenchmarks>(t, 'ai-benchmarks', { task: 'code' }, { answers })
  t.strictSame(
    data.boards.map(({ id, unit }) => [id, unit]),
    [
      ['SWE-bench/SWE-bench_Verified', 'percent'],
      ['aider/polyglot', 'percent'],
    ],
  )
  t.match(data.boards[0]?.entries[0], {
    provider: 'muster-org',
    value_percent: 62.4,
    verified: true,
  })
  t.match(data.boards[1], { updated_at: '2026-02-10T00:00:00.000Z' })
  t.match(data.boards[1]?.entries[0], { model: 'Large (whole)', value_raw: 70.1, cost_usd: null })
  const all = await runLookup<AiBenchmarks>(t, 'ai-benchmarks', {}, { answers })
  t.ok(all.warnings.some(({ code }) => code === 'partial_result'))
})

t.test('a board behind a key is read when there is one', async t => {
  const answers = { hf: 'limited', aa: 'good.json' } as const
  const sources = { aa: { key: 'secret-0815' } }
  const { data } = await runLookup<AiBenchmarks>(
    t,
    'ai-benchmarks',
    { task: 'math' },
    { answers, sources },
  )
  t.match(data.boards, [{ unit: 'index', entries: [{ model: 'Large', value_percent: null }] }])
  const failure = await runLookup(
    t,
    'ai-benchmarks',
    { task: 'math' },
    {
      answers: { hf: 'limited' },
    },
  ).catch(error => error)
  t.match(failure, { failure: 'rate_limited' }, 'all of them together are a failure')
})

t.test('preprints are read whatever their age, in one line', async t => {
  const input = { query: 'moving "things"', category: 'cs.RO' }
  const options = { answers: { arxiv: 'good.xml' } } as const
  const { data, server, sources, warnings } = await runLookup<PreprintSearch>(
    t,
    'preprint-search',
    input,
    options,
  )
  t.equal(data.total, 812)
  t.match(data.items[0], {
    id: '2602.01234',
    version: 2,
    title: 'Moving <Things> &amp; Others in Shoals',
    abstract: 'First line. Second line.',
    authors: ['A. Writer'],
    primary_category: 'cs.RO',
    doi: '10.1000/x',
    pdf_url: 'https://arxiv.org/pdf/2602.01234v2',
  })
  t.match(data.items[1], {
    id: 'hep-th/9901001',
    authors: ['B. Writer', 'C. Writer'],
    pdf_url: null,
  })
  t.match(warnings, [{ code: 'unparsed_record' }])
  t.match(sources[0]?.attribution, /Thank you to arXiv/)
  t.match(
    decodeURIComponent(server.requests[0]?.path ?? ''),
    'cat:cs.RO AND all:"moving" AND all:"things"',
  )
})

t.test(
  'a feed that reports an error, and a hollow page, are failures; an empty one is not',
  async t => {
    const search = (file: `${string}.xml`) =>
      runLookup<PreprintSearch>(t, 'preprint-search', {}, { answers: { arxiv: file } })
    await t.rejects(search('error.xml'), /incorrect id format/)
    await t.rejects(search('hollow.xml'), /empty page/)
    t.match((await search('empty.xml')).data, { total: 0, items: [], category: 'cs.AI' })
  },
)

t.test('the memory of a published file is estimated within 1 percent', t => {
  const shape = { parameters: 8_030_261_248, layers: 32, kvHeads: 8, headDim: 128 }
  const { weightsBytes, kvCacheBytes } = estimateMemory(shape, 'Q4_K_M', 8192)
  // size of Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf
  t.ok(Math.abs(weightsBytes / 4_912_898_304 - 1) < 0.01, `${weightsBytes}`)
  t.equal(kvCacheBytes, 1024 ** 3)
  t.end()
})

for (const [vram_gb, task, expected] of [
  [8, 'general', { fits: true, runtime_tag: 'llama3.1:8b' }],
  [48, 'general', { fits: true, runtime_tag: 'llama3.3:70b' }],
  [0.5, 'reasoning', { fits: false, cpu_offload_percent: 90 }],
] as const)
  t.test(`${vram_gb} GB for ${task} get the largest model that fits`, async t => {
    const { data, server } = await runLookup<PullRecommendation>(
      t,
      'runtime-pull-recommend',
      { task, vram_gb },
      {},
    )
    const [first] = data.recommendations
    if (expected.fits) t.match(first, expected)
    else t.ok(first?.fits === false && first.cpu_offload_percent > expected.cpu_offload_percent)
    t.ok(data.recommendations.every(each => each.fits === each.total_bytes <= data.usable_bytes))
    t.equal(server.requests.length, 0, 'it works offline')
  })
