import { readFileSync } from 'node:fs'
import { spreadActivation } from '../../coordinator/insight/knowledge/activation.ts'
import { listGains } from '../../coordinator/insight/knowledge/co-activation.ts'
import type { GraphFacts } from '../../coordinator/insight/knowledge/graph-model.ts'
import { parseLayer } from '../../coordinator/insight/knowledge/layer-document.ts'
import { DEFAULT_LEARNING, strengthen } from '../../coordinator/insight/knowledge/learning-store.ts'
import { TenantGraph } from '../../coordinator/insight/knowledge/tenant-graph.ts'
import { translateConcept } from '../../coordinator/insight/knowledge/translate.ts'
import { createSlices } from '../../coordinator/kernel/base/time-slices.ts'
import { type ReportRow, round } from '../measure.ts'

type Question = [text: string, answers: string[]]
interface Questions {
  /** Questions whose answer has their words. */
  named: Question[]
  /** Questions whose answer is connected to what they name. */
  related: Question[]
  /** Questions whose answer people use together with what they name. */
  habitual: Question[]
  /** Nodes that were used together before the questions are asked. */
  sessions: string[][]
}

const TOP = 5
const HOPS = 2
const NOW = 1_800_000_000_000
const TEXT_SEEDS = 5

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')
const csv = (name: string, layer: string): GraphFacts =>
  parseLayer(read(name), { format: 'csv', layer })

/** Recall at 5 of plain text search, activation, activation after learning, and translation. */
export const measureRecall = async (): Promise<ReportRow[]> => {
  const { sessions, ...groups } = JSON.parse(read('questions.json')) as Questions
  const graph = await graphOf([
    csv('organisation-nodes.csv', 'org'),
    csv('organisation-edges.csv', 'org'),
  ])
  const byText = (query: string) => graph.index.find(query, TOP).map(({ id }) => id)
  const byActivation = (query: string) => activate(graph, query).slice(0, TOP)
  const rows = Object.entries(groups).map(([group, questions]) => ({
    group,
    questions,
    text: recall(questions, byText),
    activation: recall(questions, byActivation),
  }))
  learn(graph, sessions)
  const learned = rows.map(({ questions, ...row }) => ({
    ...row,
    questions: questions.length,
    after_learning: recall(questions, byActivation),
  }))
  return [...learned, ...(await measureTranslation())]
}

const graphOf = async (parts: readonly GraphFacts[]): Promise<TenantGraph> => {
  const graph = new TenantGraph()
  const facts = {
    nodes: parts.flatMap(({ nodes }) => nodes),
    edges: parts.flatMap(({ edges }) => edges),
  }
  await graph.apply(facts, createSlices())
  if (graph.unresolvedEdges > 0) throw new Error('an edge of the evaluation leads nowhere')
  return graph
}

const activate = (graph: TenantGraph, query: string): string[] => {
  const seeds = new Map(graph.index.find(query, TEXT_SEEDS).map(({ id, score }) => [id, score]))
  return spreadActivation(graph, seeds, { hops: HOPS, now: NOW }).activated.map(({ id }) => id)
}

/** Strengthens edges as graph-activate does for each session, without the store. */
const learn = (graph: TenantGraph, sessions: readonly string[][]): void => {
  const learned = new Map<string, { strength: number; at: number }>()
  for (const session of sessions) {
    const seeds = new Map(session.map(id => [id, 1]))
    const { activated } = spreadActivation(graph, seeds, { hops: HOPS, now: NOW })
    for (const [key, gain] of listGains(graph, activated)) {
      const before = learned.get(key)?.strength ?? 0
      learned.set(key, {
        strength: strengthen(before, gain, DEFAULT_LEARNING.ratePercent),
        at: NOW,
      })
    }
    graph.learned = learned
  }
}

/** Share of the answers among the first five results, in percent. */
const recall = (questions: readonly Question[], find: (query: string) => string[]): number => {
  const parts = questions.map(([query, answers]) => {
    const found = find(query)
    return answers.filter(answer => found.includes(answer)).length / answers.length
  })
  return round((parts.reduce((sum, part) => sum + part, 0) * 100) / parts.length)
}

/** The nth concept of computing corresponds to the nth of the post. */
const measureTranslation = async (): Promise<ReportRow[]> => {
  const computing = csv('computing.csv', 'computing')
  const postal = csv('postal.csv', 'postal')
  const edges = csv('domain-edges.csv', 'edges')
  const graph = await graphOf([computing, postal, edges])
  const renamed = await graphOf([computing, postal, renameRelations(edges)])
  const isPostal = (id: string): boolean => graph.node(id)?.layer === 'postal'
  const pairs = computing.nodes.map(({ id }, n): Question => [id, [postal.nodes[n]?.id ?? '']])
  const text = recall(pairs, id => {
    const { name = '', text = '' } = graph.node(id) ?? {}
    return graph.index.find(`${name} ${text}`, TOP, isPostal).map(({ id }) => id)
  })
  const translate = async (
    graph: TenantGraph,
    conceptOf: (id: string) => string,
  ): Promise<number> => {
    const found = new Map<string, string[]>()
    for (const [id] of pairs) {
      const asked = { concept: conceptOf(id), domain: 'postal', topK: TOP }
      const { matches } = await translateConcept(graph, asked, async () => undefined)
      found.set(
        id,
        matches.map(({ node }) => node.id),
      )
    }
    return recall(pairs, id => found.get(id) ?? [])
  }
  const asText = (id: string): string => graph.node(id)?.text ?? ''
  return [
    {
      group: 'translation of a node',
      questions: pairs.length,
      text,
      translation: await translate(graph, id => id),
    },
    {
      group: 'translation of a node, other relations',
      questions: pairs.length,
      text,
      translation: await translate(renamed, id => id),
    },
    {
      group: 'translation of a text',
      questions: pairs.length,
      text,
      translation: await translate(graph, asText),
    },
  ]
}

/** The same edges, but no relation of the post has the name of one of computing. */
const renameRelations = ({ nodes, edges }: GraphFacts): GraphFacts => ({
  nodes,
  edges: edges.map(edge =>
    edge.source.startsWith('p:') ? { ...edge, relation: `post_${edge.relation}` } : edge,
  ),
})
