import t from 'tap'
import { findCoverage } from '../../../../coordinator/insight/knowledge/queries/coverage.ts'
import { findCycles } from '../../../../coordinator/insight/knowledge/queries/find-cycles.ts'
import { findOwners } from '../../../../coordinator/insight/knowledge/queries/find-owner.ts'
import { findPath } from '../../../../coordinator/insight/knowledge/queries/find-path.ts'
import { reachDependencies } from '../../../../coordinator/insight/knowledge/queries/reach.ts'
import { takePage } from '../../../../coordinator/insight/knowledge/take-page.ts'
import { factsOf, graphOf, nodeOf, noPause } from '../../../support/knowledge-graph.ts'

t.test('dependencies are followed transitively; classifications and owners are not', async t => {
  const graph = await graphOf([
    'a:1 uses a:2',
    'a:2 runs_on a:3',
    'a:1 part_of a:9',
    'a:1 owned_by a:8',
    'a:3 uses a:1',
  ])
  const depths = (start: string, direction: 'in' | 'out') =>
    reachDependencies(graph, start, direction).map(({ id, depth }) => `${id} ${depth}`)
  t.strictSame(depths('a:1', 'out'), ['a:2 1', 'a:3 2'])
  t.strictSame(depths('a:2', 'in'), ['a:1 1', 'a:3 2'])
  t.strictSame(depths('a:9', 'in'), [])
})

t.test('a path along the edges is preferred to a shorter one against them', async t => {
  const graph = await graphOf(['a:1 uses a:2', 'a:2 uses a:3', 'a:3 about a:1', 'b:1 uses b:2'])
  t.match(findPath(graph, 'a:1', 'a:3'), { isDirected: true, edges: { length: 2 } })
  t.match(findPath(graph, 'a:2', 'a:2'), { edges: { length: 0 } })
  t.match(findPath(graph, 'b:2', 'b:1'), { isDirected: false, edges: [{ source: 'b:1' }] })
  t.equal(findPath(graph, 'a:1', 'b:1'), undefined)
})

t.test('cycles are found whole, each once, with a node that needs itself', async t => {
  const graph = await graphOf([
    'a:1 uses a:2',
    'a:2 uses a:3',
    'a:3 uses a:1',
    'a:3 uses a:4',
    'a:5 uses a:5',
    'a:6 part_of a:7',
    'a:7 part_of a:6',
  ])
  const cycles = findCycles(graph, () => true).map(ids => ids.toSorted())
  t.strictSame(cycles, [['a:1', 'a:2', 'a:3'], ['a:5']])
  t.strictSame(
    findCycles(graph, id => id !== 'a:2' && id !== 'a:5'),
    [],
  )
})

t.test('a chain of 20,000 nodes does not exhaust the stack', async t => {
  const chain = Array.from({ length: 20_000 }, (_, n) => `a:${n} uses a:${(n + 1) % 20_000}`)
  t.equal(findCycles(await graphOf(chain), () => true)[0]?.length, 20_000)
})

t.test('owners are the nearest, along the way', async t => {
  const graph = await graphOf([
    'a:1 passes g:1',
    'g:1 approved_by r:1',
    'g:1 approved_by r:2',
    'a:1 uses a:2',
    'a:2 uses a:3',
    'a:3 owned_by r:3',
  ])
  t.strictSame(
    findOwners(graph, 'a:1').map(({ id, path }) => [id, path.length]),
    [
      ['r:1', 2],
      ['r:2', 2],
    ],
  )
  t.strictSame(findOwners(graph, 'r:1'), [])
})

t.test('coverage counts the nodes of a layer with an edge to another layer or kind', async t => {
  const nodes = [nodeOf('f:1', { layer: 'other' }), nodeOf('g:1', { layer: 'third' })]
  const graph = await graphOf(['c:1 needs f:1', 'c:2 needs g:1', 'c:3 needs c:1'], nodes)
  t.strictSame(findCoverage(graph, 'test', undefined), {
    covered: ['c:1', 'c:2'],
    uncovered: ['c:3'],
  })
  t.strictSame(findCoverage(graph, 'test', 'f').covered, ['c:1'])
  t.strictSame(findCoverage(graph, 'test', 'third').covered, ['c:2'])
})

t.test('a graph follows its facts: new, changed and removed nodes and edges', async t => {
  const graph = await graphOf(['a:1 uses a:2', 'a:2 uses a:3'])
  const changed = nodeOf('a:2', { name: 'renamed', text: 'billing' })
  await graph.apply(factsOf(['a:2 uses a:4 0.5', 'a:2 uses gone:1'], [changed]), noPause)
  await graph.apply(
    { ...factsOf(['a:2 uses a:4 0.5', 'a:2 uses gone:1']), nodes: [changed, nodeOf('a:4')] },
    noPause,
  )
  t.strictSame(graph.graph.nodes().toSorted(), ['a:2', 'a:4'])
  t.strictSame(graph.graph.edges(), ['a:2 uses a:4'])
  t.equal(graph.unresolvedEdges, 1)
  t.equal(graph.index.find('billing', 5)[0]?.id, 'a:2')
  t.strictSame(
    graph.index.find('a:1', 5, id => id === 'a:1'),
    [],
  )
})

t.test('pages join to the whole, in order', async t => {
  const keys = Array.from({ length: 100 }, (_, n) => `k${(n * 37) % 100}`)
  const pages: string[] = []
  for (let after: string | undefined; ; after = pages.at(-1)) {
    const page = takePage(keys, { after, limit: 7 })
    pages.push(...page)
    if (page.length < 7) break
  }
  t.strictSame(pages, keys.toSorted())
})
