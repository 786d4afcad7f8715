/** Whose rows a caller may see: one tenant's, or everybody's. Named in every look-up. */
export type Scope = { tenantId: string } | 'all'

export const inScope = (scope: Scope, tenantId: string): boolean =>
  scope === 'all' || scope.tenantId === tenantId
