import type {
  GraphEdge,
  GraphFacts,
  GraphNode,
} from '../../coordinator/insight/knowledge/graph-model.ts'
import { hash32 } from '../../coordinator/kernel/base/hash32.ts'

const SYLLABLES = ['ba', 'ri', 'to', 'mel', 'ka', 'nu', 'sor', 'vi', 'den', 'pa', 'lo', 'gri']
const VOCABULARY = 2000
const RELATIONS = ['uses', 'runs_on', 'requires', 'part_of', 'owned_by']
const LAYERS = 8

/** A word of the vocabulary; as in real texts the first ones are frequent. */
export const wordAt = (n: number): string => {
  const rank = Math.floor((hash32(`word ${n}`) / 2 ** 32) ** 2 * VOCABULARY)
  const syllable = (k: number): string =>
    SYLLABLES[hash32(`${rank} ${k}`) % SYLLABLES.length] as string
  return [0, 1, 2].map(syllable).join('')
}

/**
 * A graph with the shape of real ones: a few hubs with thousands of edges, most nodes with two or
 * three. The same numbers give the same graph.
 */
export const createSyntheticFacts = (nodes: number, edges: number): GraphFacts => {
  const facts: GraphFacts = {
    nodes: Array.from(
      { length: nodes },
      (_, n): GraphNode => ({
        id: `thing:${n}`,
        kind: 'thing',
        name: `${wordAt(n)} ${wordAt(n + 1)} ${n % 50}`,
        text: `Thing number ${n} for ${wordAt(n + 2)} and ${wordAt(n + 3)}.`,
        layer: `layer-${n % LAYERS}`,
        attributes: { number: n },
      }),
    ),
    edges: [],
  }
  const seen = new Set<string>()
  for (let n = 0; facts.edges.length < edges; n++) {
    const source = hash32(`source ${n}`) % nodes
    // the cube of a uniform number prefers small ones: these become hubs
    const target = Math.floor((hash32(`target ${n}`) / 2 ** 32) ** 3 * nodes)
    const relation = RELATIONS[hash32(`relation ${n}`) % RELATIONS.length] as string
    const key = `${source} ${relation} ${target}`
    if (source === target || seen.has(key)) continue
    seen.add(key)
    const edge: GraphEdge = {
      source: `thing:${source}`,
      relation,
      target: `thing:${target}`,
      layer: `layer-${source % LAYERS}`,
      weight: 1,
    }
    facts.edges.push(edge)
  }
  return facts
}
