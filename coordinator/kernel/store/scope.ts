/** Tenant whose rows a caller may see, or all tenants. Every lookup takes it. */
export type Scope = { tenantId: string } | 'all'

export const isInScope = (scope: Scope, tenantId: string): boolean =>
  scope === 'all' || scope.tenantId === tenantId
