import { defineView } from '../../../../kernel/declaration/define-view.ts'
import { tenantTable } from '../../tenant.table.ts'

const view = defineView(tenantTable, {
  id: true,
  name: true,
  created_at: true,
  disabled_at: true,
})
export const TenantView = view.schema
export const tenantViewOf = view.of
