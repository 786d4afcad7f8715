import * as z from 'zod'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
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
  run: async (_input, { people, tenantId = '' }) => ({
    persons: (await people.list({ tenantId })).map(personViewOf),
  }),
})
