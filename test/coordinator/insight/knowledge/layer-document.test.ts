import t from 'tap'
import { exportPage } from '../../../../coordinator/insight/knowledge/export-graph.ts'
import { parseLayer } from '../../../../coordinator/insight/knowledge/layer-document.ts'
import { graphOf, nodeOf } from '../../../support/knowledge-graph.ts'

t.test('JSON and CSV describe the same layer', async t => {
  const json = JSON.stringify({
    nodes: [{ id: 'service:crm', name: 'CRM, new', text: 'customers', attributes: { rack: 'r1' } }],
    edges: [{ source: 'service:crm', relation: 'runs_on', target: 'cell:1', weight: 0.5 }],
  })
  const nodes = 'id,name,text,rack\r\nservice:crm,"CRM, new",customers,r1\r\n'
  const edges = 'source,relation,target,weight\nservice:crm,runs_on,cell:1,0.5\n'
  const whole = parseLayer(json, { format: 'json', layer: 'services' })
  t.strictSame(parseLayer(nodes, { format: 'csv', layer: 'services' }).nodes, whole.nodes)
  t.strictSame(parseLayer(edges, { format: 'csv', layer: 'services' }).edges, whole.edges)
  t.match(whole.nodes[0], { kind: 'service', layer: 'services', attributes: { rack: 'r1' } })
})

t.test('names default to the id, weights to 1, quotes and line breaks are kept', async t => {
  t.match(
    parseLayer('id,text\na:b,"say ""hi""\nto all"\n', { format: 'csv', layer: 'x' }).nodes[0],
    {
      name: 'b',
      text: 'say "hi"\nto all',
    },
  )
  t.equal(
    parseLayer('source,relation,target\na:b,uses,a:c', { format: 'csv', layer: 'x' }).edges[0]
      ?.weight,
    1,
  )
})

t.test('no cell of an export is a formula, and an import reads it as it was', async t => {
  const name = '=HYPERLINK("http://evil.example")'
  const node = nodeOf('entity:e1', { name, text: '@SUM(1)' })
  const graph = await graphOf([], [node])
  const { text } = exportPage(graph, 'csv', { what: 'nodes', limit: 10 })
  t.notMatch(text, /(^|,)"?[=@]/m)
  t.match(parseLayer(text, { format: 'csv', layer: 'test' }).nodes[0], node)
})

for (const [what, text, format, message] of [
  ['text that is not JSON', '{', 'json', /not JSON/],
  ['an unknown field', '{"nods":[]}', 'json', /unknown field nods/],
  ['an id without a kind', '{"nodes":[{"id":"crm"}]}', 'json', /nodes\.0\.id.*such as service:crm/],
  ['a weight above 1', 'source,relation,target,weight\na:b,uses,a:c,2', 'csv', /line 2: weight/],
  [
    'a weight that is no number',
    'source,relation,target,weight\na:b,uses,a:c,x',
    'csv',
    /line 2: weight/,
  ],
  ['a missing column', 'source,target\na:b,a:c', 'csv', /line 1: the column relation is missing/],
  [
    'a line with too few fields',
    'id,name\n\na:b,x\na:c',
    'csv',
    /line 4: 1 fields, but the header has 2/,
  ],
  ['a quote that does not end', 'id,name\na:b,"x', 'csv', /line 2: a quoted field is not closed/],
] as const)
  t.test(`${what} is refused with its place`, async t => {
    t.throws(() => parseLayer(text, { format, layer: 'x' }), {
      code: 'invalid_request',
      param: 'text',
      message,
    })
  })
