import * as z from 'zod'
import { requireAdmitted } from '../../../access/people/operations/tenants/admitted.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import { CellRef } from '../cell-field.ts'

export default defineOperation({
  id: 'cells-dedicate',
  description:
    'Dedicate a cell to a tenant that your key may act for; omit the tenant to share the cell again.',
  method: 'PUT',
  path: '/v1/cells/{cell_id}/tenant',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  input: z.strictObject({
    cell_id: CellRef,
    tenant_id: Id.nullable()
      .default(null)
      .describe('Tenant to dedicate the cell to; null shares it with all tenants.'),
    exclusive: z
      .boolean()
      .default(false)
      .describe(
        "Restrict the tenant's requests to its dedicated cells, even when those are full or offline.",
      ),
  }),
  output: z.object({ id: z.string(), tenant_id: z.string().nullable(), exclusive: z.boolean() }),
  run: async (
    { cell_id, tenant_id, exclusive },
    { settings, key, actor }: Context & EnrolmentViews,
  ) => {
    if (tenant_id !== null) requireAdmitted(tenant_id, key)
    const wanted = tenant_id === null ? undefined : { tenantId: tenant_id, exclusive }
    const { owner } = await settings.setOwner(cell_id, wanted, actor)
    return {
      id: cell_id,
      tenant_id: owner?.tenantId ?? null,
      exclusive: owner?.exclusive ?? false,
    }
  },
})
