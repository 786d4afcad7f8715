import * as z from 'zod'
import { Id } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireAdmitted } from '../tenants/admitted.ts'

export default defineOperation({
  id: 'cells-dedicate',
  description:
    "Make a cell the own of a tenant that your key acts for: it serves nobody else. Without a tenant, everybody's.",
  method: 'PUT',
  path: '/v1/cells/{cell_id}/tenant',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  input: z.strictObject({
    cell_id: Id,
    tenant_id: Id.nullable().default(null).describe("null: everybody's."),
    exclusive: z
      .boolean()
      .default(false)
      .describe(
        "The tenant's requests go to its own cells only, also when those are full or away.",
      ),
  }),
  output: z.object({ id: z.string(), tenant_id: z.string().nullable(), exclusive: z.boolean() }),
  run: async ({ cell_id, tenant_id, exclusive }, { settings, key, actor }) => {
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
