import type { Adjacency } from './adjacency.ts'
import type { TenantGraph } from './tenant-graph.ts'

/** Share of an activation that passes an edge of strength 1 from a node with one edge. */
const HOP_DECAY = 0.5
/** A fully learned edge passes three times as much as an edge that was never used. */
const LEARNED_FACTOR = 2
/** Largest share of an activation that one edge passes. */
const MAX_PASSED = 0.9
/** Edges that one activation may follow, which bounds its time in a graph of any shape. */
const EDGE_BUDGET = 10_000
/** Most nodes in the result: more than an answer shows. */
const MAX_ACTIVATED = 200
/** Activation below which a node passes on nothing. */
const MIN_ACTIVATION = 0.0005

/** One edge of an explained path, as it is declared: it may have been followed against its direction. */
export interface PathStep {
  source: string
  relation: string
  target: string
  /** Declared strength, times what was learned. */
  strength: number
  /** Learned strength that is left, from 0 to 1. */
  learned: number
}

export interface Activated {
  id: string
  /** Sum of what arrived from all seeds, and of the initial activation of a seed. */
  activation: number
  isSeed: boolean
  /** Length of the path; 0 for a seed that no other seed reaches. */
  hops: number
  /** Strongest path from the seed that contributes most. */
  path: PathStep[]
}

interface Spread {
  /** The strongest nodes, at most 200. */
  activated: Activated[]
  /** Number of nodes with any activation. */
  reached: number
  /** True when the budget of edges was used up: weaker branches were left out. */
  isCut: boolean
}

/** What has arrived at a node from one seed. */
interface Arrival {
  /** Sum over all edges. */
  amount: number
  /** Largest amount over one edge, with that edge and the node at its other end. */
  most: number
  edge: number
  from: number
}

/**
 * Spreading activation from seeds with their initial activations. Each seed activates outwards by
 * itself, nearest nodes first: a node passes on what it has received, halved by every hop, divided by
 * the root of its degree (a hub says little about any one neighbour), times the strength of the edge.
 * What arrives by several paths and from several seeds adds up. Strongest nodes first.
 */
export const spreadActivation = (
  tenantGraph: TenantGraph,
  seeds: ReadonlyMap<string, number>,
  { hops, now }: { hops: number; now: number },
): Spread => {
  const { adjacency } = tenantGraph
  const strengthOf = createStrengths(tenantGraph, now)
  const totals = new Map<number, number>()
  const best = new Map<number, ReadonlyMap<number, Arrival>>()
  const budget = { edges: EDGE_BUDGET }
  for (const [id, initial] of seeds) {
    const seed = adjacency.numbers.get(id)
    if (seed === undefined) continue
    totals.set(seed, (totals.get(seed) ?? 0) + initial)
    const arrivals = spreadFrom(adjacency, { seed, initial, hops }, strengthOf, budget)
    for (const [node, { amount }] of arrivals) {
      totals.set(node, (totals.get(node) ?? 0) + amount)
      if (amount > (best.get(node)?.get(node)?.amount ?? 0)) best.set(node, arrivals)
    }
  }
  const activated = takeStrongest(totals).map(([node, activation]): Activated => {
    const { id } = adjacency.node(node)
    const arrivals = best.get(node)
    const path = arrivals === undefined ? [] : tracePath(adjacency, node, arrivals, strengthOf)
    return { id, activation, isSeed: seeds.has(id), hops: path.length, path }
  })
  activated.sort((a, b) => b.activation - a.activation || (a.id < b.id ? -1 : 1))
  return { activated, reached: totals.size, isCut: budget.edges <= 0 }
}

/** The strongest nodes, unordered: sorting only the numbers is fast for many nodes. */
const takeStrongest = (totals: ReadonlyMap<number, number>): [number, number][] => {
  const sorted = Float64Array.from(totals.values()).sort()
  const least = sorted.at(-MAX_ACTIVATED) ?? 0
  return [...totals].filter(([, activation]) => activation >= least).slice(0, MAX_ACTIVATED)
}

type StrengthOf = (edge: number) => Pick<PathStep, 'strength' | 'learned'>

const createStrengths = (tenantGraph: TenantGraph, now: number): StrengthOf => {
  const { adjacency, learned: known } = tenantGraph
  return edge => {
    const { weight } = adjacency.edge(edge)
    const learned = known.size === 0 ? 0 : tenantGraph.readLearnedStrength(adjacency.key(edge), now)
    return { learned, strength: weight * (1 + LEARNED_FACTOR * learned) }
  }
}

interface Origin {
  seed: number
  initial: number
  hops: number
}

/** Computes what each node receives from one seed. */
const spreadFrom = (
  adjacency: Adjacency,
  { seed, initial, hops }: Origin,
  strengthOf: StrengthOf,
  budget: { edges: number },
): Map<number, Arrival> => {
  const received = new Map<number, Arrival>()
  let frontier: [node: number, amount: number][] = [[seed, initial]]
  for (let hop = 0; hop < hops && frontier.length > 0; hop++) {
    const next = new Map<number, Arrival>()
    for (const [node, amount] of frontier) {
      const degree = adjacency.degree(node)
      if (amount < MIN_ACTIVATION) break
      if (degree > budget.edges) {
        budget.edges = 0
        break
      }
      budget.edges -= degree
      const share = (amount * HOP_DECAY) / Math.sqrt(degree)
      const { from, to } = adjacency.placesOf(node)
      for (let place = from; place < to; place++) {
        const other = adjacency.others[place] as number
        // outwards only: nothing flows back to nodes that were reached before this hop
        if (other === seed || received.has(other)) continue
        const edge = adjacency.edgeAt[place] as number
        const passed = Math.min(amount * MAX_PASSED, share * strengthOf(edge).strength)
        addArrival(next, other, { amount: passed, most: passed, edge, from: node })
      }
    }
    for (const [node, arrival] of next) received.set(node, arrival)
    frontier = [...next].map(([node, { amount }]): [number, number] => [node, amount])
    frontier.sort(([, a], [, b]) => b - a)
  }
  return received
}

const addArrival = (arrivals: Map<number, Arrival>, node: number, arrival: Arrival): void => {
  const known = arrivals.get(node)
  if (known === undefined) {
    arrivals.set(node, arrival)
    return
  }
  known.amount += arrival.amount
  if (arrival.most > known.most) {
    known.most = arrival.most
    known.edge = arrival.edge
    known.from = arrival.from
  }
}

const tracePath = (
  adjacency: Adjacency,
  node: number,
  arrivals: ReadonlyMap<number, Arrival>,
  strengthOf: StrengthOf,
): PathStep[] => {
  const path: PathStep[] = []
  for (let at = arrivals.get(node); at !== undefined; at = arrivals.get(at.from)) {
    const { source, relation, target } = adjacency.edge(at.edge)
    path.unshift({ source, relation, target, ...strengthOf(at.edge) })
  }
  return path
}
