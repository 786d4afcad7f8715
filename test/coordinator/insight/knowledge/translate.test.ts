import t from 'tap'
import { translateConcept } from '../../../../coordinator/insight/knowledge/translate.ts'
import { graphOf, nodeOf } from '../../../support/knowledge-graph.ts'

const none = async () => undefined

t.test('without a model the meaning is compared by letters, and the answer says so', async t => {
  const graph = await graphOf(
    [],
    [
      nodeOf('skill:approve', { name: 'Approve the release', layer: 'skills' }),
      nodeOf('skill:weather', { name: 'Weather forecast', layer: 'skills' }),
      nodeOf('x:1'),
    ],
  )
  const asked = { concept: 'approval of the release', domain: 'skills', topK: 5 }
  const found = await translateConcept(graph, asked, none)
  t.match(found, { similarity: 'text', model: undefined, concept: undefined, candidates: 2 })
  t.match(found.matches[0], {
    node: { id: 'skill:approve' },
    sharedWords: ['release'],
    role: undefined,
  })
})

t.test('a model decides by meaning where no letter agrees', async t => {
  const graph = await graphOf(
    [],
    [
      nodeOf('b:1', { name: 'Genehmigung', layer: 'b' }),
      nodeOf('b:2', { name: 'Wetter', layer: 'b' }),
    ],
  )
  const embed = async (texts: readonly string[]) => ({
    model: 'embed-x',
    vectors: texts.map(text => (/approval|Genehmigung/.test(text) ? [1, 0] : [0.1, 1])),
  })
  const asked = { concept: 'approval', domain: 'b', topK: 1 }
  const found = await translateConcept(graph, asked, embed)
  t.match(found, { similarity: 'embedding', model: 'embed-x' })
  t.match(found.matches, [{ node: { id: 'b:1' }, similarity: 1 }])
})

t.test('of nodes with equal texts the one in the same place in the graph is nearer', async t => {
  const names = ['b:hub', 'b:leaf'].map(id => nodeOf(id, { name: 'item', layer: 'b' }))
  const others = Array.from({ length: 8 }, (_, n) =>
    nodeOf(`b:x${n}`, { name: 'other', layer: 'b' }),
  )
  const own = nodeOf('a:hub', { name: 'centre', layer: 'a' })
  const graph = await graphOf(
    [
      ...Array.from({ length: 8 }, (_, n) => `a:x${n} uses a:hub`),
      ...Array.from({ length: 8 }, (_, n) => `b:x${n} uses b:hub`),
      'b:leaf uses b:x0',
    ],
    [
      own,
      ...names,
      ...others,
      ...Array.from({ length: 8 }, (_, n) => nodeOf(`a:x${n}`, { layer: 'a' })),
    ],
  )
  for (const concept of ['a:hub', 'Centre']) {
    const { matches, concept: known } = await translateConcept(
      graph,
      { concept, domain: 'b', topK: 20 },
      none,
    )
    t.equal(known?.id, 'a:hub', 'a concept is found by id and by name')
    const roleOf = (id: string) => matches.find(({ node }) => node.id === id)?.role ?? 0
    t.ok(roleOf('b:hub') > roleOf('b:leaf') + 0.2)
    t.ok(
      matches.findIndex(({ node }) => node.id === 'b:hub') <
        matches.findIndex(({ node }) => node.id === 'b:leaf'),
    )
  }
})
