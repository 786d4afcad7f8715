import { canonical, integer, optional, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'

/** One policy that took the place of another. Rows are never changed; the newest one holds. */
export const policyTable = defineTable('policies', {
  columns: {
    /** 1, 2, 3 …: in the order in which they took effect. */
    number: integer(),
    /** Version that the policy states in its document. */
    version: text(),
    hash: text(),
    document_json: canonical(),
    /** Hash of the policy that this one replaced. */
    replaced_hash: text(),
    /** Hash of the configured policy at the time this one took effect. */
    configured_hash: text(),
    /** The request at the gate; absent for one that was accepted on the machine itself. */
    request_id: optional(reference('gate_requests')),
    /** A person, or `local:<user>`. */
    changed_by: text(),
    changed_at: time(),
    reason: text(),
  },
  key: ['number'],
})

export type StoredPolicy = EntityOf<typeof policyTable>

/** Stored facts about a policy, without its document. */
export type PolicyFacts = Omit<StoredPolicy, 'document'>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    policies: TableOf<typeof policyTable>
  }
}
