import * as z from 'zod'
import { ShoalError } from '../../../../../shared/errors.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { KeyViews } from '../../../keys/open.ts'
import { requireAdmitted } from './admitted.ts'
import { TenantView, tenantViewOf } from './tenant-view.ts'

export default defineOperation({
  id: 'tenants-disable',
  description: 'Disable a tenant and all its keys within a second; tenants-enable restores them.',
  method: 'POST',
  path: '/v1/tenants/{tenant_id}/disable',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  input: z.strictObject({ tenant_id: z.string().max(128) }),
  output: TenantView,
  run: async ({ tenant_id }, { keys, key, actor }: Context & KeyViews) => {
    requireAdmitted(tenant_id, key)
    if (tenant_id === key?.tenantId)
      throw new ShoalError('forbidden', 'a key cannot disable its home tenant')
    return tenantViewOf(await keys.enableTenant(tenant_id, false, actor))
  },
})
