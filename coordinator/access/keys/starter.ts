import type { Actor } from '../../kernel/audit/audit.ts'

/** Principal that starts work which goes on by itself; the calls of the work have its rights. */
export interface Starter extends Actor {
  tenantId: string
  keyId: string
  requestId: string
}
