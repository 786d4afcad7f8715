import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { KnowledgeViews } from '../open.ts'
import { answerLayerQuery } from './graph/answer-layer-query.ts'
import { LayerAnswer, LayerQuestion } from './graph/layer-question.ts'

export default defineSkill({
  id: 'layer-query',
  group: 'governance',
  name: 'Layer query',
  description:
    'Ask the layers of the knowledge graph for dependencies, consumers, a path, orphans, cycles, coverage, owners or counts.',
  tags: ['knowledge', 'graph'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject(LayerQuestion.shape),
  output: LayerAnswer,
  examples: [
    { query_type: 'deps', target_id: 'agent-role:coding' },
    { query_type: 'consumers', target_id: 'gate:gate.minor-release-approve' },
    { query_type: 'path', layer_id: 'agent-role:release', target_id: 'role:architect' },
    { query_type: 'orphans' },
    { query_type: 'cycles' },
    { query_type: 'coverage', layer_id: 'compliance', target_id: 'feature' },
    { query_type: 'owner', target_id: 'action:release.minor' },
    { query_type: 'stats' },
  ],
  run: (question, context: Context & KnowledgeViews) => answerLayerQuery(question, context),
})
