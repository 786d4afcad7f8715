import { ShoalError } from '../../../../../shared/errors.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { dataState } from '../../../../kernel/declaration/data-state.ts'
import { edgeKey, type GraphEdge } from '../../graph-model.ts'
import type { KnowledgeViews } from '../../open.ts'
import { findCoverage } from '../../queries/coverage.ts'
import { findCycles } from '../../queries/find-cycles.ts'
import { findOwners } from '../../queries/find-owner.ts'
import { findPath } from '../../queries/find-path.ts'
import { computeGraphStats } from '../../queries/graph-stats.ts'
import { reachDependencies } from '../../queries/reach.ts'
import type { TenantGraph } from '../../tenant-graph.ts'
import { edgeViewOf, graphFor, nodeViewOf, requireNode } from './graph-view.ts'
import type { LayerAnswer, LayerQuestion } from './layer-question.ts'

/** Nodes or cycles in an answer. */
const SHOWN = 200

interface Asked {
  graph: TenantGraph
  question: LayerQuestion
  /** Unix milliseconds. */
  now: number
}

/** What one kind of question adds to the answer; the rest is empty. */
type Part = Partial<LayerAnswer> & { summary: string }

/** Answers a question about the caller's graph. Throws `invalid_request` for a missing id, `not_found`. */
export const answerLayerQuery = async (
  question: LayerQuestion,
  context: Context & KnowledgeViews,
): Promise<LayerAnswer> => {
  const { graph, as_of } = await graphFor(context)
  const { query_type } = question
  const layer = query_type === 'path' ? undefined : question.layer_id
  const isEmpty = layer !== undefined && !graph.adjacency.nodes.some(node => node.layer === layer)
  return {
    query_type,
    data_state: dataState(isEmpty ? 0 : 1),
    as_of,
    to_load: isEmpty ? `no node is in layer ${layer}; shoal graph import ${layer} <file>` : null,
    nodes: [],
    edges: [],
    cycles: [],
    coverage: null,
    stats: null,
    total: 0,
    is_cut: false,
    ...ANSWERS[query_type]({ graph, question, now: context.now() }),
  }
}

const ANSWERS: Record<LayerQuestion['query_type'], (asked: Asked) => Part> = {
  deps: asked => answerReach(asked, 'out'),
  consumers: asked => answerReach(asked, 'in'),
  path: ({ graph, question, now }) => {
    const from = requireId(question, 'layer_id', 'the id of the first node')
    const to = requireId(question, 'target_id', 'the id of the last node')
    requireNode(graph, from, 'layer_id')
    requireNode(graph, to, 'target_id')
    const path = findPath(graph, from, to)
    if (path === undefined) return { summary: `${from} and ${to} are not connected.` }
    const edges = path.edges.map(edge => edgeView(graph, edge, now))
    const how = path.isDirected ? 'along the direction of the edges' : 'regardless of direction'
    return {
      summary: `${from} reaches ${to} in ${edges.length} edges, ${how}.`,
      edges,
      total: edges.length,
    }
  },
  orphans: ({ graph, question: { layer_id } }) => {
    const { adjacency } = graph
    const ids = adjacency.nodes
      .filter(
        ({ layer }, number) =>
          adjacency.degree(number) === 0 && (layer_id === undefined || layer === layer_id),
      )
      .map(({ id }) => id)
    return { summary: `${ids.length} nodes have no edges.`, ...listNodes(graph, ids) }
  },
  cycles: ({ graph, question: { layer_id } }) => {
    const accepts = (id: string): boolean =>
      layer_id === undefined || graph.node(id)?.layer === layer_id
    const found = findCycles(graph, accepts)
    const cycles = found.slice(0, SHOWN).map(ids => ids.slice(0, SHOWN))
    const is_cut = found.length > SHOWN || found.some(({ length }) => length > SHOWN)
    const summary = `${found.length} groups of nodes depend on each other in a circle.`
    return { summary, cycles, total: found.length, is_cut }
  },
  coverage: ({ graph, question }) => {
    const layer = requireId(question, 'layer_id', 'the layer whose coverage is measured')
    const { covered, uncovered } = findCoverage(graph, layer, question.target_id)
    const total = covered.length + uncovered.length
    const covered_percent = total === 0 ? 0 : Math.round((covered.length * 1000) / total) / 10
    const by = question.target_id ?? 'another layer'
    return {
      summary: `${covered.length} of ${total} nodes in ${layer} are connected to ${by}; the others are listed.`,
      coverage: { covered: covered.length, total, covered_percent },
      ...listNodes(graph, uncovered),
    }
  },
  owner: ({ graph, question, now }) => {
    const target = requireId(question, 'target_id', 'the node whose owner is wanted')
    requireNode(graph, target, 'target_id')
    const owners = findOwners(graph, target)
    const names = owners.map(({ id }) => id)
    const nodes = owners.flatMap(({ id, path }) => {
      const node = graph.node(id)
      const last = path.at(-1)
      if (node === undefined || last === undefined) return []
      return [{ ...nodeViewOf(node), depth: path.length, via: edgeView(graph, last, now) }]
    })
    return {
      summary:
        names.length === 0
          ? `${target} has no owner.`
          : `${names.join(', ')} ${names.length === 1 ? 'answers' : 'answer'} for ${target}.`,
      nodes: nodes.slice(0, SHOWN),
      edges: (owners[0]?.path ?? []).map(edge => edgeView(graph, edge, now)),
      total: owners.length,
      is_cut: owners.length > SHOWN,
    }
  },
  stats: ({ graph, question: { layer_id } }) => {
    const { unresolvedEdges, busiest, ...counts } = computeGraphStats(graph, layer_id)
    return {
      summary: `${counts.nodes} nodes and ${counts.edges} edges, ${counts.orphans} nodes without edges.`,
      stats: {
        ...counts,
        unresolved_edges: unresolvedEdges,
        busiest: busiest === undefined ? null : { node_id: busiest.id, edges: busiest.degree },
      },
      total: counts.nodes,
    }
  },
}

const answerReach = ({ graph, question, now }: Asked, direction: 'in' | 'out'): Part => {
  const what = direction === 'out' ? 'dependencies' : 'consumers'
  const target = requireId(question, 'target_id', `the node whose ${what} are listed`)
  requireNode(graph, target, 'target_id')
  const reached = reachDependencies(graph, target, direction)
  const isIn = (id: string): boolean =>
    question.layer_id === undefined || graph.node(id)?.layer === question.layer_id
  const wanted = reached.filter(({ id }) => isIn(id))
  const nodes = wanted.slice(0, SHOWN).flatMap(({ id, depth, via }) => {
    const node = graph.node(id)
    return node
      ? [{ ...nodeViewOf(node), depth, via: edgeViewOf(graph, graph.edge(via), via, now) }]
      : []
  })
  return {
    summary: `${target} has ${wanted.length} ${what}, direct and indirect.`,
    nodes,
    total: wanted.length,
    is_cut: wanted.length > SHOWN,
  }
}

const requireId = (
  question: LayerQuestion,
  param: 'layer_id' | 'target_id',
  what: string,
): string => {
  const id = question[param]
  if (id !== undefined) return id
  throw new ShoalError('invalid_request', `${question.query_type} needs ${param}: ${what}`, {
    param,
  })
}

const listNodes = (graph: TenantGraph, ids: readonly string[]) => ({
  nodes: ids.slice(0, SHOWN).flatMap(id => {
    const node = graph.node(id)
    return node === undefined ? [] : [{ ...nodeViewOf(node), depth: null, via: null }]
  }),
  total: ids.length,
  is_cut: ids.length > SHOWN,
})

const edgeView = (graph: TenantGraph, edge: GraphEdge, now: number) =>
  edgeViewOf(graph, edge, edgeKey(edge), now)
