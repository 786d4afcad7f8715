import { REQUEST_STATES } from '../../kernel/declaration/gate-request.ts'
import { canonical, oneOf, optional, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'

/** One request at a gate; `kernel/declaration/gate-request.ts` says what its columns mean. */
export const gateRequestTable = defineTable('gate_requests', {
  columns: {
    id: text(),
    gate_id: text(),
    tenant_id: reference('tenants'),
    requester_id: text(),
    requester_key_id: text(),
    /** Subject of the request; a newer request of the same person about it supersedes this one. */
    subject: text(),
    summary: text(),
    plan_json: canonical(),
    plan_hash: text(),
    policy_hash: text(),
    evidence_json: canonical(),
    state: oneOf(REQUEST_STATES),
    reason: optional(text()),
    created_at: time(),
    expires_at: time(),
    approved_at: optional(time()),
    approval_expires_at: optional(time()),
    consumed_at: optional(time()),
  },
  key: ['id'],
  indexes: {
    gate_requests_tenant: ['tenant_id', 'gate_id', 'id'],
    gate_requests_open: ['tenant_id', 'requester_id', 'state', 'gate_id', 'subject'],
    gate_requests_due: ['state', 'expires_at'],
    gate_requests_subject: ['requester_id', 'subject', 'tenant_id', 'id'],
  },
})

/** A request without its votes. */
export type StoredRequest = EntityOf<typeof gateRequestTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    gate_requests: TableOf<typeof gateRequestTable>
  }
}
