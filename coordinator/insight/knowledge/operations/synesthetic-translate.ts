import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { EmbeddingViews } from '../embeddings.ts'
import type { KnowledgeViews } from '../open.ts'
import { type ConceptMatch, listNodesInDomain, translateConcept } from '../translate.ts'
import { AsOf, graphFor, NodeView, nodeViewOf, round } from './graph/graph-view.ts'

const Match = NodeView.extend({
  score: z.number().describe('From 0 to 1; the matches are sorted by it.'),
  similarity: z.number().describe('Similarity of the meaning, from 0 to 1.'),
  role: z
    .number()
    .nullable()
    .describe(
      'Similarity of the place in the graph, from 0 to 1; null when the concept is not a node.',
    ),
  shared_words: z.array(z.string()),
  explanation: z.string(),
})

export default defineSkill({
  id: 'synesthetic-translate',
  group: 'governance',
  name: 'Synesthetic translation',
  description:
    'Find what a concept corresponds to in another domain of the knowledge graph, by meaning and by its place in the graph.',
  tags: ['knowledge', 'graph'],
  access: 'operator',
  effect: 'read',
  timeoutSeconds: 60,
  input: z.strictObject({
    concept: z.string().min(1).max(500).describe('Id or name of a node, or a text.'),
    target_domain: z
      .string()
      .min(1)
      .max(64)
      .describe('Layer or kind of node: `governance`, `skill`.'),
    top_k: z.int().min(1).max(50).default(5),
  }),
  output: z.object({
    data_state: DataState,
    as_of: AsOf,
    concept: z.string().describe('Id of the node that the concept names, else its text.'),
    is_node: z.boolean(),
    similarity: z
      .enum(['embedding', 'text'])
      .describe('`embedding`: by a model of the fleet; `text`: by letters, without meaning.'),
    model: z.string().nullable().describe('Model that made the embeddings.'),
    fallback_reason: z.string().nullable().describe('Reason why no model was asked; else null.'),
    candidates: z.int().describe('Nodes of the target domain.'),
    compared: z.int().describe('Nodes that were compared: at most 256.'),
    matches: z.array(Match),
  }),
  examples: [
    { concept: 'gate:gate.minor-release-approve', target_domain: 'skills' },
    { concept: 'who may approve', target_domain: 'governance', top_k: 3 },
  ],
  toLoad: 'concepts of the domain: `shoal graph import`; docs/knowledge.md',
  run: async (
    { concept, target_domain, top_k },
    context: Context & EmbeddingViews & KnowledgeViews,
  ) => {
    const { graph, as_of } = await graphFor(context)
    if (listNodesInDomain(graph, target_domain).length === 0) {
      const domains = graph.graph.mapNodes((_id, { node }) => node.layer)
      throw new ShoalError(
        'invalid_request',
        `${target_domain} is not a layer or kind with nodes; layers are ${[...new Set(domains)].join(', ')}`,
        { param: 'target_domain' },
      )
    }
    const embedding = createEmbed(context)
    const asked = { concept, domain: target_domain, topK: top_k }
    const found = await translateConcept(graph, asked, embedding.embed)
    return {
      data_state: dataState(found.candidates),
      as_of,
      concept: found.concept?.id ?? concept,
      is_node: found.concept !== undefined,
      similarity: found.similarity,
      model: found.model ?? null,
      fallback_reason: embedding.reason(),
      candidates: found.candidates,
      compared: found.compared,
      matches: found.matches.map(match => viewOf(match, found.similarity)),
    }
  },
})

/** Embeds with a model that the key may use; without one, or when it fails, the reason is kept. */
const createEmbed = ({
  embeddings,
  key,
  tenantId,
  requestId,
  signal,
}: Context & EmbeddingViews) => {
  let reason: string | null = null
  const embed = async (texts: readonly string[]) => {
    const model = key && embeddings.find(key)
    if (key === undefined || tenantId === undefined || model === undefined) {
      reason = 'no embedding model that this key may use is served by a cell'
      return undefined
    }
    try {
      const by = { key, tenantId, requestId, signal }
      return { model, vectors: await embeddings.embed(model, texts, by) }
    } catch (error) {
      if (!(error instanceof ShoalError)) throw error
      reason = `${model}: ${error.message}`
      return undefined
    }
  }
  return { embed, reason: () => reason }
}

const viewOf = (match: ConceptMatch, by: 'embedding' | 'text'): z.input<typeof Match> => ({
  ...nodeViewOf(match.node),
  score: round(match.score),
  similarity: round(match.similarity),
  role: match.role === undefined ? null : round(match.role),
  shared_words: match.sharedWords,
  explanation: explain(match, by),
})

const explain = (
  { similarity, role, roles, sharedWords }: ConceptMatch,
  by: 'embedding' | 'text',
): string => {
  const words =
    sharedWords.length === 0 ? 'no word in common' : `both say ${sharedWords.join(', ')}`
  const parts = [`${by} similarity ${percent(similarity)} (${words})`]
  if (role !== undefined && roles !== undefined) {
    const relations = [...roles.concept.relations.keys()].filter(each =>
      roles.match.relations.has(each),
    )
    const common =
      relations.length === 0 ? 'no relation in common' : `both have ${relations.join(', ')}`
    parts.push(
      `role similarity ${percent(role)}: incoming edges ${percent(roles.concept.incoming)} and ` +
        `${percent(roles.match.incoming)} of the most in their layers, outgoing ` +
        `${percent(roles.concept.outgoing)} and ${percent(roles.match.outgoing)}, ${common}`,
    )
  }
  return `${parts.join('; ')}.`
}

const percent = (value: number): string => `${Math.round(value * 100)} %`
