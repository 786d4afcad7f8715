import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { defineOperation } from '../operation.ts'
import { PersonView, personViewOf } from './person-view.ts'

export default defineOperation({
  id: 'persons-disable',
  description:
    'End what all keys of a person open, within a second; they come back with persons-enable.',
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
      throw new ShoalError('forbidden', 'nobody disables themselves: ask another administrator')
    return personViewOf(await keys.enablePerson(person_id, false, { tenantId }, actor))
  },
})
