import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../../kernel/declaration/tenant-scope.ts'
import type { KnowledgeViews } from '../../../knowledge/open.ts'
import type { RegisterViews } from '../../open.ts'
import { createUnknownPersonError } from '../../person-data.ts'
import { RecordId } from '../../register.ts'
import { RecordView, viewRecord } from '../record-view.ts'

export default defineOperation({
  id: 'people-export',
  description:
    'Export everything that registers and imported layers keep about a person (GDPR, article 15).',
  method: 'GET',
  path: '/v1/people/{person_id}',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'read',
  tool: false,
  input: z.strictObject({ person_id: RecordId.describe('Id of the person in the registers.') }),
  output: z.object({
    person_id: z.string(),
    records: z.array(RecordView.extend({ register: z.string() })),
    statements: z
      .array(
        z.object({
          layer: z.string(),
          statement: z.string().describe('Node, or source, relation and target of an edge.'),
          name: z.string().nullable(),
        }),
      )
      .describe('What imported layers of the knowledge graph say of `person:<id>`.'),
  }),
  run: async ({ person_id }, context: Context & KnowledgeViews & RegisterViews) => {
    const scope = scopeOf(context)
    const found = await context.registers.findPerson(person_id, scope)
    const said = await context.knowledge.findPerson(scope.tenantId, person_id)
    if (found.length + said.length === 0) throw createUnknownPersonError(person_id)
    return {
      statements: said.map(({ name, ...each }) => ({ ...each, name: name ?? null })),
      person_id,
      records: found.map(each => ({ register: each.register.id, ...viewRecord(each) })),
    }
  },
})
