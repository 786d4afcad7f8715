import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { PeopleViews } from '../../open.ts'
import { PersonView, personViewOf } from './person-view.ts'

export default defineOperation({
  id: 'persons-list',
  description: 'List the people of the tenant, who can be accountable for keys.',
  method: 'GET',
  path: '/v1/persons',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'read',
  tool: false,
  input: z.strictObject({}),
  output: z.object({ persons: z.array(PersonView) }),
  run: async (_input, { people, tenantId = '' }: Context & PeopleViews) => ({
    persons: (await people.list({ tenantId })).map(personViewOf),
  }),
})
