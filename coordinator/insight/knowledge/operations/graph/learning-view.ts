import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { MAX_LEARNED } from '../../learning-store.ts'
import type { KnowledgeViews } from '../../open.ts'
import { EdgeView, edgeViewOf, graphFor } from './graph-view.ts'

export const LearningView = z.object({
  enabled: z.boolean(),
  rate_percent: z
    .int()
    .describe('Part of the distance to full strength that one full activation closes.'),
  half_life_hours: z.int().describe('Time in which an unused strength falls to one half.'),
  learned_edges: z.int(),
  most_learned_edges: z.int().describe('The weakest edges beyond this number are forgotten.'),
  /** Strongest first. */
  strongest: z.array(EdgeView),
})

export const learningOf = async (
  context: Context & KnowledgeViews,
  limit: number,
): Promise<z.input<typeof LearningView>> => {
  const { graph } = await graphFor(context)
  const { settings, learned } = graph
  const now = context.now()
  const strongest = [...learned.keys()]
    .filter(key => graph.graph.hasEdge(key))
    .map(key => edgeViewOf(graph, graph.edge(key), key, now))
    .toSorted((a, b) => b.learned - a.learned)
  return {
    enabled: settings.enabled,
    rate_percent: settings.ratePercent,
    half_life_hours: settings.halfLifeHours,
    learned_edges: learned.size,
    most_learned_edges: MAX_LEARNED,
    strongest: strongest.slice(0, limit),
  }
}
