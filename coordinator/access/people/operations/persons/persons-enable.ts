import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { KeyViews } from '../../../keys/open.ts'
import type { PeopleViews } from '../../open.ts'
import { PersonRef, PersonView, personViewOf } from './person-view.ts'

export default defineOperation({
  id: 'persons-enable',
  description: 'Re-enable a person and their keys.',
  method: 'POST',
  path: '/v1/persons/{person_id}/enable',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  input: z.strictObject({ person_id: PersonRef }),
  output: PersonView,
  run: async (
    { person_id },
    { keys, people, tenantId = '', actor }: Context & KeyViews & PeopleViews,
  ) => {
    const id = await people.resolveId(person_id, { tenantId })
    return personViewOf(await keys.enablePerson(id, true, { tenantId }, actor))
  },
})
