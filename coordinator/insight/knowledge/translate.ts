import type { GraphNode } from './graph-model.ts'
import { compareRoles, roleOf, type StructuralRole, scaleOf } from './structural-role.ts'
import type { TenantGraph } from './tenant-graph.ts'
import {
  compareProfiles,
  compareVectors,
  listSharedWords,
  profileText,
  type TextProfile,
} from './text-similarity.ts'

/** Embeds texts with a model of the fleet; undefined when no model is available. */
type Embed = (
  texts: readonly string[],
) => Promise<{ model: string; vectors: readonly (readonly number[])[] } | undefined>

export interface ConceptMatch {
  node: GraphNode
  /** Score from 0 to 1, by which matches are sorted. */
  score: number
  /** Similarity of the meaning, by embeddings or by text. */
  similarity: number
  /** Similarity of the place in the graph; undefined when the concept is not a node. */
  role: number | undefined
  sharedWords: string[]
  roles: { concept: StructuralRole; match: StructuralRole } | undefined
}

interface Translation {
  /** Node that the concept names; undefined for a free text. */
  concept: GraphNode | undefined
  similarity: 'embedding' | 'text'
  /** Model that made the embeddings. */
  model: string | undefined
  /** Nodes of the target domain that were compared, and how many there are. */
  compared: number
  candidates: number
  matches: ConceptMatch[]
}

/** Most nodes that are compared by meaning. */
const MAX_COMPARED = 256
/** Weight of the meaning; the rest is the place in the graph. */
const MEANING_WEIGHT = 0.7

/** Lists the numbers of the nodes in a layer, or of a kind. */
export const listNodesInDomain = (
  { adjacency }: Pick<TenantGraph, 'adjacency'>,
  domain: string,
): number[] => {
  const numbers: number[] = []
  for (const [number, { layer, kind }] of adjacency.nodes.entries())
    if (layer === domain || kind === domain) numbers.push(number)
  return numbers
}

/** Finds the node whose id or name is the concept. */
const findConcept = (tenantGraph: TenantGraph, concept: string): GraphNode | undefined => {
  const known = tenantGraph.node(concept)
  if (known !== undefined) return known
  const isNamed = (id: string) => tenantGraph.node(id)?.name.toLowerCase() === concept.toLowerCase()
  const [hit] = tenantGraph.index.find(concept, 1, isNamed)
  return hit && tenantGraph.node(hit.id)
}

/**
 * Finds what a concept corresponds to in another domain: nodes that mean something similar and, for a
 * concept that is a node, have a similar place in the graph.
 */
export const translateConcept = async (
  tenantGraph: TenantGraph,
  { concept, domain, topK }: { concept: string; domain: string; topK: number },
  embed: Embed,
): Promise<Translation> => {
  const { adjacency } = tenantGraph
  const known = findConcept(tenantGraph, concept)
  const own = known && adjacency.numbers.get(known.id)
  const all = listNodesInDomain(tenantGraph, domain).filter(number => number !== own)
  const text = known === undefined ? concept : textOf(known)
  const compareRole = own === undefined ? undefined : createRoleCheck(tenantGraph, own, all)
  const compared = chooseCandidates(tenantGraph, { text, own, all })
  const nodes = compared.map(number => adjacency.node(number))
  const meaning = await compareMeaning(text, nodes, embed)
  const matches = nodes.map((node, at): ConceptMatch => {
    const similarity = Math.max(0, meaning.similarities[at] as number)
    const roles = compareRole?.(compared[at] as number)
    const role = roles && compareRoles(roles.concept, roles.match)
    const score =
      role === undefined ? similarity : MEANING_WEIGHT * similarity + (1 - MEANING_WEIGHT) * role
    return { node, score, similarity, role, roles, sharedWords: [] }
  })
  matches.sort((a, b) => b.score - a.score || (a.node.id < b.node.id ? -1 : 1))
  return {
    concept: known,
    similarity: meaning.model === undefined ? 'text' : 'embedding',
    model: meaning.model,
    compared: compared.length,
    candidates: all.length,
    matches: matches
      .slice(0, topK)
      .map(match => ({ ...match, sharedWords: listSharedWords(text, textOf(match.node)) })),
  }
}

const textOf = ({ name, kind, text }: GraphNode): string =>
  `${name}. ${kind}. ${text}`.slice(0, 500)

const createRoleCheck = (tenantGraph: TenantGraph, own: number, domain: readonly number[]) => {
  const { layer } = tenantGraph.adjacency.node(own)
  const ownScale = scaleOf(tenantGraph, listNodesInDomain(tenantGraph, layer))
  const scale = scaleOf(tenantGraph, domain)
  const concept = roleOf(tenantGraph, own, ownScale)
  return (node: number) => ({ concept, match: roleOf(tenantGraph, node, scale) })
}

interface Candidates {
  text: string
  own: number | undefined
  all: readonly number[]
}

/** All nodes of a small domain; of a large one those that a text search finds, and the nearest by degree. */
const chooseCandidates = (
  { adjacency, index }: TenantGraph,
  { text, own, all }: Candidates,
): number[] => {
  if (all.length <= MAX_COMPARED) return [...all]
  const inDomain = new Set(all)
  // frequent words would make the search long and say little
  const words = (own === undefined ? text : adjacency.node(own).name).split(' ').slice(0, 8)
  const hits = index
    .find(words.join(' '), MAX_COMPARED / 2, id => inDomain.has(adjacency.numbers.get(id) ?? -1))
    .flatMap(({ id }) => adjacency.numbers.get(id) ?? [])
  const wanted = own === undefined ? 0 : adjacency.degree(own)
  const alike = all
    .map(number => ({ number, distance: Math.abs(adjacency.degree(number) - wanted) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, MAX_COMPARED)
    .map(({ number }) => number)
  return [...new Set([...hits, ...alike])].slice(0, MAX_COMPARED)
}

/** Profiles of nodes that were compared before; a changed node is another object. */
const profiles = new WeakMap<GraphNode, TextProfile>()

const profileOf = (node: GraphNode): TextProfile => {
  const profile = profiles.get(node) ?? profileText(textOf(node))
  profiles.set(node, profile)
  return profile
}

const compareMeaning = async (
  text: string,
  nodes: readonly GraphNode[],
  embed: Embed,
): Promise<{ similarities: number[]; model: string | undefined }> => {
  const embedded = nodes.length === 0 ? undefined : await embed([text, ...nodes.map(textOf)])
  if (embedded === undefined) {
    const own = profileText(text)
    const similarities = nodes.map(node => compareProfiles(own, profileOf(node)))
    return { similarities, model: undefined }
  }
  const [own = [], ...others] = embedded.vectors
  return { similarities: others.map(each => compareVectors(own, each)), model: embedded.model }
}
