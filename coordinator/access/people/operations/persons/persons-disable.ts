import * as z from 'zod'
import { ShoalError } from '../../../../../shared/errors.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { KeyViews } from '../../../keys/open.ts'
import type { PeopleViews } from '../../open.ts'
import { PersonRef, PersonView, personViewOf } from './person-view.ts'

export default defineOperation({
  id: 'persons-disable',
  description: 'Disable a person and all their keys within a second; persons-enable restores them.',
  method: 'POST',
  path: '/v1/persons/{person_id}/disable',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  input: z.strictObject({ person_id: PersonRef }),
  output: PersonView,
  run: async (
    { person_id },
    { keys, key, people, tenantId = '', actor }: Context & KeyViews & PeopleViews,
  ) => {
    const id = await people.resolveId(person_id, { tenantId })
    if (id === key?.personId)
      throw new ShoalError('forbidden', 'you cannot disable yourself; ask another administrator')
    return personViewOf(await keys.enablePerson(id, false, { tenantId }, actor))
  },
})
