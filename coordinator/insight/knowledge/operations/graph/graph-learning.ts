import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { pageLimit } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { KnowledgeViews } from '../../open.ts'
import { LearningView, learningOf } from './learning-view.ts'

export default defineOperation({
  id: 'graph-learning',
  description: 'Show how the knowledge graph learns, and the edges it has strengthened most.',
  method: 'GET',
  path: '/v1/graph/learning',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({ limit: pageLimit(200, 20) }),
  output: LearningView,
  run: ({ limit }, context: Context & KnowledgeViews) => learningOf(context, limit),
})
