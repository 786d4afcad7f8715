import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { PeopleViews } from '../../open.ts'
import { PersonView, personViewOf } from './person-view.ts'

export default defineOperation({
  id: 'persons-create',
  description: 'Create a person in the tenant. Keys are requested separately.',
  method: 'POST',
  path: '/v1/persons',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  input: z.strictObject({ name: z.string().min(1).max(200) }),
  output: PersonView,
  run: async ({ name }, { people, tenantId = '', actor }: Context & PeopleViews) =>
    personViewOf(await people.create({ tenantId, name }, actor)),
})
