import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { PeopleViews } from '../../open.ts'
import { TenantView, tenantViewOf } from './tenant-view.ts'

export default defineOperation({
  id: 'tenants-list',
  description: 'List the tenants that your key may act for.',
  method: 'GET',
  path: '/v1/tenants',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'read',
  tool: false,
  input: z.strictObject({}),
  output: z.object({ tenants: z.array(TenantView) }),
  run: async (_input, { people, key }: Context & PeopleViews) => {
    const ids = key === undefined ? [] : [key.tenantId, ...key.furtherTenants]
    const found = await Promise.all(ids.map(id => people.tenant(id)))
    return { tenants: found.filter(tenant => tenant !== undefined).map(tenantViewOf) }
  },
})
