import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../../kernel/declaration/tenant-scope.ts'
import type { KnowledgeViews } from '../../open.ts'
import { LayerId } from './graph-view.ts'

export default defineOperation({
  id: 'graph-layers-delete',
  description: 'Delete an imported layer of your tenant with its nodes and edges.',
  method: 'DELETE',
  path: '/v1/graph/layers/{layer_id}',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  input: z.strictObject({ layer_id: LayerId }),
  output: z.object({ layer_id: z.string(), deleted: z.literal(true) }),
  run: async ({ layer_id }, context: Context & KnowledgeViews) => {
    await context.knowledge.deleteLayer(scopeOf(context).tenantId, layer_id, context.actor)
    return { layer_id, deleted: true as const }
  },
})
