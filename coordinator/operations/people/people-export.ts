import * as z from 'zod'
import { RecordId } from '../../registers/register.ts'
import { defineOperation } from '../operation.ts'
import { RecordView, viewRecord } from '../registers/record-view.ts'
import { scopeOf } from '../tenant-scope.ts'

export default defineOperation({
  id: 'people-export',
  description: 'Export everything that the registers keep about a person (GDPR, article 15).',
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
  }),
  run: async ({ person_id }, context) => {
    const found = await context.registers.findPerson(person_id, scopeOf(context))
    return {
      person_id,
      records: found.map(each => ({ register: each.register.id, ...viewRecord(each) })),
    }
  },
})
