import * as z from 'zod'
import type { FlowViews } from '../../../../agents/flows/open.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../../kernel/declaration/tenant-scope.ts'
import type { KnowledgeViews } from '../../../knowledge/open.ts'
import type { RegisterViews } from '../../open.ts'
import { RecordId } from '../../register.ts'

export default defineOperation({
  id: 'people-erase',
  description:
    'Delete the records and graph nodes about a person and clear its id in all others (GDPR, article 17).',
  method: 'DELETE',
  path: '/v1/people/{person_id}',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  input: z.strictObject({ person_id: RecordId.describe('Id of the person in the registers.') }),
  output: z.object({
    person_id: z.string(),
    records_deleted: z.int(),
    records_cleared: z.int().describe('Records that no longer name the person.'),
    statements_deleted: z.int().describe('Imported nodes and edges of the knowledge graph.'),
    step_outputs_deleted: z.int().describe('Outputs of steps of flows that named the person.'),
  }),
  run: async ({ person_id }, context: Context & FlowViews & KnowledgeViews & RegisterViews) => {
    const { registers, knowledge, flows, actor: by } = context
    const { tenantId } = scopeOf(context)
    // before the records too: without them a repeated call finds nobody
    const before = await flows.erasePerson(tenantId, person_id)
    const { deleted, cleared, others } = await registers.erasePerson(person_id, {
      tenantId,
      by,
      eraseOthers: trx => knowledge.erasePersonWithin(trx, tenantId, person_id),
    })
    knowledge.markLayersStale()
    const outputs = before + (await flows.erasePerson(tenantId, person_id))
    return {
      person_id,
      records_deleted: deleted,
      records_cleared: cleared,
      statements_deleted: others,
      step_outputs_deleted: outputs,
    }
  },
})
