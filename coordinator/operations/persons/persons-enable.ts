import * as z from 'zod'
import { defineOperation } from '../operation.ts'
import { PersonView, personViewOf } from './person-view.ts'

export default defineOperation({
  id: 'persons-enable',
  description: 'Re-enable a person and their keys.',
  method: 'POST',
  path: '/v1/persons/{person_id}/enable',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  input: z.strictObject({ person_id: z.string().max(128) }),
  output: PersonView,
  run: async ({ person_id }, { keys, tenantId = '', actor }) =>
    personViewOf(await keys.enablePerson(person_id, true, { tenantId }, actor)),
})
