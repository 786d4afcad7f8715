import t from 'tap'
import { alertOf } from '../../../../coordinator/fleet/alerts/alert.ts'
import { governanceScene } from '../../../support/governance.ts'

const NOW = 1_800_000_000_000
const alert = alertOf({
  id: 'alert_1',
  rule: 'cell_lost',
  cellId: '',
  part: '',
  message: 'cell_x is silent',
  raisedAt: NOW - 60_000,
})
const { call, demo } = await governanceScene(t, { now: () => NOW, alerts: [alert] })
const run = (skill: string, input: object, key = demo.operator) =>
  call(key, 'POST', `/v1/skills/${skill}`, input)
type Row = Record<string, string>

for (const [query_type, missing] of [
  ['deps', 'target_id'],
  ['consumers', 'target_id'],
  ['path', 'layer_id'],
  ['coverage', 'layer_id'],
  ['owner', 'target_id'],
] as const)
  t.test(`layer-query ${query_type} says which id it needs`, async t => {
    t.match(await run('layer-query', { query_type }), {
      status: 422,
      json: { error: { param: missing, message: new RegExp(`${query_type} needs ${missing}`) } },
    })
  })

t.test('layer-query answers from the running system', async t => {
  const consumers = await run('layer-query', {
    query_type: 'consumers',
    target_id: 'gate:gate.minor-release-approve',
  })
  t.ok(consumers.json.nodes.some(({ node_id }: Row) => node_id === 'action:release.minor'))
  t.ok(consumers.json.nodes.some(({ node_id }: Row) => node_id === 'agent-role:coding'))
  const owner = await run('layer-query', { query_type: 'owner', target_id: 'action:release.minor' })
  t.match(owner.json.nodes, [{ node_id: 'role:reviewer', depth: 2 }])
  const stats = (await run('layer-query', { query_type: 'stats' })).json
  t.ok(stats.stats.kinds.skill > 50 && stats.stats.kinds.module === 30)
  t.equal(stats.stats.layers.tenants, 1)
  const coverage = { query_type: 'coverage', layer_id: 'compliance', target_id: 'feature' }
  t.match((await run('layer-query', coverage)).json.coverage, { total: Number, covered: Number })
  t.match((await run('layer-query', { query_type: 'orphans', layer_id: 'plants' })).json, {
    data_state: 'empty',
    to_load: /shoal graph import plants/,
  })
})

t.test('neural-query explains each result by its path, and needs a seed or a query', async t => {
  const found = await run('neural-query', { seed: 'gate:gate.major-release-approve' })
  const architect = found.json.results.find(({ node_id }: Row) => node_id === 'role:architect')
  t.match(architect, {
    hops: 1,
    path: [{ relation: 'approved_by' }],
    explanation: 'gate.major-release-approve approved by architect.',
  })
  t.equal(found.json.is_learning, false, 'a query changes nothing')
  const text = await run('neural-query', { query: 'minor release' })
  t.match(text.json.seeds[0], { because: 'found by the text minor release' })
  t.match(await run('neural-query', {}), { status: 422, json: { error: { param: 'query' } } })
  t.equal((await run('neural-query', { seed: 'cell:none' })).status, 404)
  t.match((await run('neural-query', { query: 'zzzzqqqq' })).json, {
    data_state: 'empty',
    results: [],
  })
})

t.test('synesthetic-translate finds counterparts, and says that it compared letters', async t => {
  const { json } = await run('synesthetic-translate', {
    concept: 'module:air-quality',
    target_domain: 'skills',
    top_k: 2,
  })
  t.match(json, { similarity: 'text', fallback_reason: /no embedding model/, is_node: true })
  t.match(json.matches, [{ node_id: 'skill:air-quality', explanation: /text similarity/ }, {}])
  t.match(await run('synesthetic-translate', { concept: 'x', target_domain: 'nowhere' }), {
    status: 422,
    json: { error: { param: 'target_domain', message: /layers are/ } },
  })
})

t.test('each aspect of the world model is told from records', async t => {
  const ask = async (aspect: string, key = demo.operator) =>
    (await run('world-model-query', { aspect }, key)).json
  const asked = await call(demo.operator, 'POST', '/v1/keys', { tier: 'free', label: 'k' })
  t.match((await ask('gates')).gates.requests, [{ request_id: asked.json.request_id }])
  t.match((await ask('gates', demo.stranger)).gates.requests.length, 0)
  t.match((await ask('current')).current, {
    alerts_raised: [{ alert_id: 'alert_1' }],
    pending_requests: 1,
  })
  t.match((await ask('queue')).data_state, 'empty')
  const hook = { url: 'https://hooks.acme-corp.com/x' }
  const { id } = (await call(demo.operator, 'POST', '/v1/webhooks', hook)).json
  await call(demo.operator, 'POST', `/v1/webhooks/${id}/test`)
  t.match((await ask('queue')).queue, { by_state: { queued: 1 }, newest: { length: 1 } })
  t.equal((await ask('queue', demo.stranger)).data_state, 'empty')
  const { events } = (await ask('narrative')).narrative
  t.ok(events.some(({ event_id }: Row) => event_id === 'alert:alert_1'))
  const created = events.find(({ text }: Row) => /webhook/.test(text ?? ''))
  t.match(created, { event_id: /^audit:\d+$/, at: new Date(NOW).toISOString() })
  t.notMatch(JSON.stringify((await ask('narrative', demo.stranger)).narrative.events), /webhook/)
  t.match((await ask('identity')).identity, { modules: 30, tenant_id: 'demo' })
})

t.test('tenants are shown by role', async t => {
  const ask = async (key: string) =>
    (await run('world-model-query', { aspect: 'tenants' }, key)).json.tenants
  t.match(await ask(demo.operator), { scope: 'all_of_key', tenants: [{ tenant_id: 'demo' }] })
  t.match(await ask(demo.stranger), { scope: 'all_of_key', tenants: [{ tenant_id: 'other' }] })
})

t.test('world-model-status counts what the graph holds', async t => {
  const { json } = await run('world-model-status', {})
  t.ok(json.nodes > 200 && json.edges > 300)
  t.match(json, { learning: { enabled: true }, embedding_model: null, imported: { layers: 0 } })
})
