import t from 'tap'
import { spreadActivation } from '../../../../coordinator/insight/knowledge/activation.ts'
import { listGains } from '../../../../coordinator/insight/knowledge/co-activation.ts'
import { graphOf } from '../../../support/knowledge-graph.ts'

const NOW = 1_800_000_000_000
const from = (...ids: string[]) => new Map(ids.map(id => [id, 1]))
const idsOf = ({ activated }: ReturnType<typeof spreadActivation>) => activated.map(({ id }) => id)

t.test('activation halves with every hop and stops after the last', async t => {
  const graph = await graphOf(['a:1 uses a:2', 'a:2 uses a:3', 'a:3 uses a:4'])
  const { activated } = spreadActivation(graph, from('a:1'), { hops: 2, now: NOW })
  t.strictSame(
    activated.map(({ id, activation, hops }) => [id, Math.round(activation * 1000) / 1000, hops]),
    [
      ['a:1', 1, 0],
      ['a:2', 0.5, 1],
      // half of what arrived, shared by the root of two edges
      ['a:3', 0.177, 2],
    ],
  )
})

t.test(
  'activation follows edges against their direction, and the path names them as declared',
  async t => {
    const graph = await graphOf(['a:1 uses a:2', 'a:3 uses a:2'])
    const { activated } = spreadActivation(graph, from('a:1'), { hops: 2, now: NOW })
    t.strictSame(
      activated
        .find(({ id }) => id === 'a:3')
        ?.path.map(({ source, target }) => `${source} ${target}`),
      ['a:1 a:2', 'a:3 a:2'],
    )
  },
)

t.test('a node that two seeds reach comes before one that a single seed reaches', async t => {
  const graph = await graphOf([
    's:1 uses m:both',
    's:2 uses m:both',
    's:1 uses m:one',
    's:2 uses m:two',
  ])
  const found = idsOf(spreadActivation(graph, from('s:1', 's:2'), { hops: 1, now: NOW }))
  t.strictSame(found.slice(2), ['m:both', 'm:one', 'm:two'])
})

t.test('a hub passes on less to each neighbour than a node with few edges', async t => {
  const spokes = Array.from({ length: 50 }, (_, n) => `x:${n} part_of hub:1`)
  const graph = await graphOf(['s:1 uses hub:1', 's:1 uses few:1', 'few:1 uses z:1', ...spokes])
  const found = idsOf(spreadActivation(graph, from('s:1'), { hops: 2, now: NOW }))
  t.ok(found.indexOf('z:1') < found.indexOf('x:0'))
})

t.test('a stronger or a learned edge wins over an equal one', async t => {
  const graph = await graphOf(['s:1 uses m:b 0.4', 's:1 uses m:a 0.5'])
  const order = () => idsOf(spreadActivation(graph, from('s:1'), { hops: 1, now: NOW })).slice(1)
  t.strictSame(order(), ['m:a', 'm:b'])
  graph.learned = new Map([['s:1 uses m:b', { strength: 0.8, at: NOW }]])
  t.strictSame(order(), ['m:b', 'm:a'])
  graph.learned = new Map([['s:1 uses m:b', { strength: 0.8, at: NOW - 3000 * 3_600_000 }]])
  t.strictSame(order(), ['m:a', 'm:b'], 'what was learned long ago has decayed')
})

t.test('a graph of any size is searched within a budget, and the answer says so', async t => {
  const star = Array.from({ length: 40_000 }, (_, n) => `x:${n} part_of hub:1`)
  const graph = await graphOf(star)
  const { activated, isCut } = spreadActivation(graph, from('x:1'), { hops: 2, now: NOW })
  t.ok(isCut)
  t.strictSame(
    activated.map(({ id }) => id),
    ['x:1', 'hub:1'],
  )
})

t.test('edges between strongly activated nodes gain most, unrelated edges nothing', async t => {
  const graph = await graphOf(['s:1 uses m:1', 'm:1 uses s:2', 'z:1 uses z:2'])
  const { activated } = spreadActivation(graph, from('s:1', 's:2'), { hops: 2, now: NOW })
  const gains = listGains(graph, activated)
  t.strictSame([...gains.keys()].toSorted(), ['m:1 uses s:2', 's:1 uses m:1'])
  t.ok([...gains.values()].every(gain => gain > 0 && gain <= 1))
})
