import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../../kernel/declaration/data-state.ts'
import { type Activated, type PathStep, spreadActivation } from '../../activation.ts'
import { listGains } from '../../co-activation.ts'
import type { KnowledgeViews } from '../../open.ts'
import { AsOf, graphFor, NodeView, nodeViewOf, requireNode, round } from './graph-view.ts'

/** Nodes that a text query starts from. */
const TEXT_SEEDS = 5

export const Hops = z
  .int()
  .min(1)
  .max(6)
  .describe('Edges that activation passes from a seed, from 1 to 6.')

const Step = z.object({
  source: z.string(),
  relation: z.string(),
  target: z.string(),
  strength: z.number().describe('Declared strength times what was learned.'),
  learned: z.number(),
})

export const ActivationView = z.object({
  data_state: DataState,
  as_of: AsOf,
  seeds: z.array(
    z.object({
      node_id: z.string(),
      activation: z.number(),
      because: z.string().describe('Named by the caller, or found by its text.'),
    }),
  ),
  results: z.array(
    NodeView.extend({
      activation: z.number(),
      is_seed: z.boolean(),
      hops: z.int(),
      path: z.array(Step).describe('Strongest path from the seed that contributes most.'),
      explanation: z.string(),
    }),
  ),
  reached: z.int().describe('Nodes with any activation, seeds included.'),
  is_cut: z.boolean().describe('True when weaker branches were left out to bound the time.'),
  is_learning: z
    .boolean()
    .describe('True when this activation strengthens the edges of its paths.'),
})

interface ActivationInput {
  seeds: readonly string[]
  query: string | undefined
  hops: number
  limit: number
  learn: boolean
}

/** Activates the caller's graph from nodes, or from what a text finds. Throws `not_found`. */
export const activateFor = async (
  { seeds, query, hops, limit, learn }: ActivationInput,
  context: Context & KnowledgeViews,
): Promise<z.input<typeof ActivationView>> => {
  const { tenantId, graph, as_of } = await graphFor(context)
  for (const seed of seeds) requireNode(graph, seed, 'seed')
  const found = query === undefined ? [] : graph.index.find(query, TEXT_SEEDS)
  const initial = new Map([
    ...found.map(({ id, score }): [string, number] => [id, score]),
    ...seeds.map((id): [string, number] => [id, 1]),
  ])
  const { activated, reached, isCut } = spreadActivation(graph, initial, {
    hops,
    now: context.now(),
  })
  const isLearning = learn && graph.settings.enabled
  if (isLearning) context.knowledge.noteGains(tenantId, listGains(graph, activated))
  const nameOf = (id: string): string => graph.node(id)?.name ?? id
  return {
    data_state: dataState(reached),
    as_of,
    seeds: [...initial].map(([node_id, activation]) => ({
      node_id,
      activation: round(activation),
      because: seeds.includes(node_id) ? 'named by the caller' : `found by the text ${query}`,
    })),
    results: activated.slice(0, limit).flatMap(each => {
      const node = graph.node(each.id)
      if (node === undefined) return []
      const { activation, isSeed, hops, path } = each
      return {
        ...nodeViewOf(node),
        activation: round(activation),
        is_seed: isSeed,
        hops,
        path: path.map(viewOfStep),
        explanation: explain(each, nameOf),
      }
    }),
    reached,
    is_cut: isCut,
    is_learning: isLearning,
  }
}

const viewOfStep = ({ strength, learned, ...step }: PathStep) => ({
  ...step,
  strength: round(strength),
  learned: round(learned),
})

const explain = ({ isSeed, path }: Activated, nameOf: (id: string) => string): string => {
  if (path.length === 0) return 'The search starts here.'
  const steps = path.map(
    ({ source, relation, target }) =>
      `${nameOf(source)} ${relation.replaceAll('_', ' ')} ${nameOf(target)}`,
  )
  return `${isSeed ? 'The search starts here, and it is reached through: ' : ''}${steps.join('; ')}.`
}
