import * as z from 'zod'
import { RecordId } from '../../registers/register.ts'
import { defineOperation } from '../operation.ts'
import { scopeOf } from '../tenant-scope.ts'

export default defineOperation({
  id: 'people-erase',
  description:
    'Delete the records about a person and clear its id in all others (GDPR, article 17).',
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
  }),
  run: async ({ person_id }, context) => {
    const { registers, actor: by } = context
    const { deleted, cleared } = await registers.erasePerson(person_id, {
      ...scopeOf(context),
      by,
    })
    return { person_id, records_deleted: deleted, records_cleared: cleared }
  },
})
