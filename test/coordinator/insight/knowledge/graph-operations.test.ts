import t from 'tap'
import { governanceScene } from '../../../support/governance.ts'
import { BY } from '../../kernel/store/temporary.ts'

const LAYER = {
  nodes: [
    { id: 'service:crm', name: 'CRM', text: 'customer records', attributes: { rack: 'r1' } },
    { id: 'service:mail', name: 'Mail' },
    { id: 'team:sales', name: 'Sales' },
  ],
  edges: [
    { source: 'service:crm', relation: 'uses', target: 'service:mail', weight: 0.5 },
    { source: 'service:crm', relation: 'owned_by', target: 'team:sales' },
    { source: 'service:crm', relation: 'uses', target: 'gate:gate.minor-release-approve' },
    { source: 'service:crm', relation: 'runs_on', target: 'cell:unknown' },
  ],
}

const scene = await governanceScene(t)
const { call, demo } = scene
const { secret: reviewer } = await scene.keys.create(
  { tenantId: 'demo', personId: await personOf(), tier: 'enterprise', roles: ['reviewer'] },
  BY,
)
const get = (path: string, key = demo.operator) => call(key, 'GET', `/v1/graph${path}`)
const put = (layer: string, body: object, key = demo.operator) =>
  call(key, 'POST', `/v1/graph/layers/${layer}`, body)
const imported = await put('landscape', { text: JSON.stringify(LAYER) })

t.test('an imported layer is connected to the running system at once', async t => {
  t.match(imported, {
    status: 200,
    json: { layer_id: 'landscape', nodes: 3, edges: 4, unresolved_edges: 1 },
  })
  t.match((await get('/nodes/service%3Acrm')).json, {
    name: 'CRM',
    layer: 'landscape',
    attributes: { rack: 'r1' },
    outgoing: 3,
    relations: { 'out uses': 2, 'out owned_by': 1 },
  })
  const { json } = await get('/nodes/gate%3Agate.minor-release-approve/neighbours?direction=in')
  t.ok(json.neighbours.some(({ node }: { node: object }) => 'name' in node && node.name === 'CRM'))
})

t.test('another tenant sees the same system and nothing of the layer', async t => {
  t.equal((await get('/nodes/service%3Acrm', demo.stranger)).status, 404)
  t.strictSame((await get('/nodes?kind=service&query=crm', demo.stranger)).json.nodes, [])
  t.strictSame((await get('/layers', demo.stranger)).json.imported, [])
  t.equal((await call(demo.stranger, 'DELETE', '/v1/graph/layers/landscape')).status, 404)
  for (const what of ['nodes', 'edges']) {
    const { json } = await get(`/export?what=${what}&limit=5000`, demo.stranger)
    t.notMatch(JSON.stringify(json), /service:crm|team:sales|tenant:demo/)
  }
  t.equal((await get('/nodes/tenant%3Ademo', demo.stranger)).status, 404)
  t.equal((await get('/nodes/tenant%3Aother', demo.stranger)).status, 200)
  const same = await put('landscape', { text: JSON.stringify(LAYER) }, demo.stranger)
  t.match(same, { status: 200, json: { nodes: 3 } }, 'names are free in each tenant')
})

t.test('live nodes and layers cannot be replaced, nor nodes of another layer', async t => {
  const text = (nodes: object[]) => JSON.stringify({ nodes })
  t.match(await put('fleet', { text: text([]) }), {
    status: 422,
    json: { error: { param: 'layer_id' } },
  })
  t.match(await put('own', { text: text([{ id: 'skill:dns-scan' }]) }), {
    status: 422,
    json: { error: { param: 'text', message: /skill:dns-scan is a node of the running system/ } },
  })
  t.match(await put('own', { text: text([{ id: 'service:crm' }]) }), {
    status: 409,
    json: { error: { message: 'node service:crm belongs to the imported layer landscape' } },
  })
  t.match(await put('own', { text: 'id,name\nservice', format: 'csv' }), {
    status: 422,
    json: { error: { param: 'text', message: /^line 2/ } },
  })
  t.equal((await put('own', { text: text([]) }, reviewer)).status, 403)
})

t.test('an export of a layer can be imported again', async t => {
  for (const format of ['json', 'csv'] as const)
    for (const what of ['nodes', 'edges'] as const) {
      const query = `what=${what}&layer=landscape&format=${format}`
      const [, body] = await scene.text(demo.operator, `/v1/graph/export?${query}`)
      const again = await put('landscape', { text: String(body), format })
      t.match(again, { status: 200, json: { nodes: 3, edges: 4 } })
    }
  t.match((await get('/nodes/service%3Acrm')).json, { attributes: { rack: 'r1' } })
})

t.test('lists page by id and filter by kind, layer, relation', async t => {
  const first = (await get('/nodes?layer=landscape&limit=2')).json
  const second = (await get(`/nodes?layer=landscape&limit=2&after=${first.next}`)).json
  t.strictSame(
    [...first.nodes, ...second.nodes].map(({ node_id }) => node_id),
    ['service:crm', 'service:mail', 'team:sales'],
  )
  t.equal(second.next, null)
  const { edges } = (await get('/edges?layer=landscape&relation=owned_by')).json
  t.match(edges, [{ source: 'service:crm', target: 'team:sales', weight: 1, learned: 0 }])
  t.equal((await get('/nodes?kind=service&query=records')).json.nodes[0].node_id, 'service:crm')
})

t.test('a path crosses from an imported layer to the roles that decide', async t => {
  const { json } = await get('/path?from=service%3Acrm&to=role%3Areviewer')
  t.match(json, { is_connected: true, is_directed: true, length: 2 })
  t.match(json.edges[1], { relation: 'approved_by' })
  t.match(await get('/path?from=service%3Acrm&to=nothing%3Ahere'), {
    status: 404,
    json: { error: { param: 'to' } },
  })
})

t.test('activation strengthens its paths, which the settings switch off and forget', async t => {
  const activate = (body: object) =>
    call(demo.operator, 'POST', '/v1/graph/activate', { hops: 1, ...body })
  const seeds = ['service:mail', 'team:sales']
  const silent = await activate({ seeds, learn: false })
  t.match(silent.json, { is_learning: false, results: { length: 3 } })
  t.match(
    silent.json.results.find(({ node_id }: { node_id: string }) => node_id === 'service:crm'),
    { is_seed: false, hops: 1, explanation: 'CRM owned by Sales.' },
  )
  t.match((await activate({ seeds })).json, { is_learning: true })
  await scene.knowledge.learn()
  const learned = (await get('/learning')).json
  t.match(learned, { enabled: true, learned_edges: 2 })
  t.ok(learned.strongest.every((edge: { learned: number }) => edge.learned > 0.05))
  t.equal((await get('/learning', demo.stranger)).json.learned_edges, 0)
  const set = (body: object) => call(demo.operator, 'PUT', '/v1/graph/learning', body)
  t.match((await set({ enabled: false })).json, { enabled: false, learned_edges: 2 })
  t.match((await activate({ seeds })).json, { is_learning: false })
  const reset = { enabled: true, half_life_hours: 24, forget: true }
  t.match((await set(reset)).json, { enabled: true, half_life_hours: 24, learned_edges: 0 })
  t.equal((await call(reviewer, 'PUT', '/v1/graph/learning', reset)).status, 403)
})

t.test('a deleted layer is gone with its edges', async t => {
  t.equal((await call(demo.operator, 'DELETE', '/v1/graph/layers/landscape')).status, 200)
  t.equal((await get('/nodes/service%3Acrm')).status, 404)
  t.equal((await call(demo.operator, 'DELETE', '/v1/graph/layers/landscape')).status, 404)
})

async function personOf(): Promise<string> {
  return (await call(demo.operator, 'GET', '/v1/persons')).json.persons[0].id
}
