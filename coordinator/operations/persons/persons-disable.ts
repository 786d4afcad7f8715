import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { defineOperation } from '../operation.ts'
import { PersonView, personViewOf } from './person-view.ts'

export default defineOperation({
  id: 'persons-disable',
  description: 'Disable a person and all their keys within a second; persons-enable restores them.',
  method: 'POST',
  path: '/v1/persons/{person_id}/disable',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  input: z.strictObject({ person_id: z.string().max(128) }),
  output: PersonView,
  run: async ({ person_id }, { keys, key, tenantId = '', actor }) => {
    if (person_id === key?.personId)
      throw new ShoalError('forbidden', 'you cannot disable yourself; ask another administrator')
    return personViewOf(await keys.enablePerson(person_id, false, { tenantId }, actor))
  },
})
