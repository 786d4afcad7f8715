import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { KeyViews } from '../../../keys/open.ts'
import { requireAdmitted } from './admitted.ts'
import { TenantView, tenantViewOf } from './tenant-view.ts'

export default defineOperation({
  id: 'tenants-enable',
  description: 'Re-enable a tenant and its keys.',
  method: 'POST',
  path: '/v1/tenants/{tenant_id}/enable',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  input: z.strictObject({ tenant_id: z.string().max(128) }),
  output: TenantView,
  run: async ({ tenant_id }, { keys, key, actor }: Context & KeyViews) => {
    requireAdmitted(tenant_id, key)
    return tenantViewOf(await keys.enableTenant(tenant_id, true, actor))
  },
})
