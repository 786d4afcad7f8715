import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { defineOperation } from '../operation.ts'
import { TenantView, tenantViewOf } from './tenant-view.ts'

export default defineOperation({
  id: 'tenants-create',
  description:
    'Make a tenant, for which your key may act from now on. Ids are one list for the whole service: one that is taken is 409, whoever has it.',
  method: 'POST',
  path: '/v1/tenants',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  input: z.strictObject({
    id: z
      .string()
      .max(64)
      .exactOptional()
      .describe('What clients send as X-SVC-Tenant; made up by default.'),
    name: z.string().min(1).max(200),
  }),
  output: TenantView,
  run: async (tenant, { keys, key, actor }) => {
    if (key === undefined) throw new ShoalError('auth_required', 'this needs a key')
    return tenantViewOf(await keys.foundTenant(key.id, tenant, actor))
  },
})
