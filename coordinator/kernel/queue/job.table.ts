import { anyJson, integer, oneOf, optional, reference, text, time } from '../store/columns.ts'
import { defineTable, type TableOf } from '../store/define-table.ts'
import { JOB_STATES } from './job.ts'

/** Job of the queue; the row is kept for some time after the job ends. */
export const jobTable = defineTable('jobs', {
  columns: {
    /** The order in which jobs were added. */
    seq: integer(),
    id: text(),
    kind: text(),
    /** Null for what belongs to the whole service. */
    tenant_id: optional(reference('tenants')),
    project: optional(text()),
    team: optional(text()),
    payload_json: anyJson(),
    /** 0 to 9; higher ones go first. */
    priority: integer(),
    /** Expected cost, in hundredths of a euro. */
    cost_cents: integer(),
    /** Jobs of one lane are done one after another, in their order. */
    lane: optional(text()),
    state: oneOf(JOB_STATES),
    not_before: time(),
    /**
     * Earliest time at which a worker may claim the job: `not_before` while it is queued, the end of
     * the lease while it runs, and never while another job of its lane goes first.
     */
    due_at: time(),
    /** Number of attempts begun, including the one in progress. */
    attempts: integer(),
    max_attempts: integer(),
    worker: optional(text()),
    /** Grows with every claim: a worker that lost its lease cannot end the job any more. */
    fence: integer(),
    /** Reason for the failure of the last attempt, or for giving up. */
    reason: optional(text()),
    /** Deduplication key: at most one job exists per kind and key. */
    once_key: optional(text()),
    created_at: time(),
    changed_at: time(),
    ended_at: optional(time()),
  },
  key: ['seq'],
  unique: [['id']],
  indexes: {
    jobs_due: ['kind', 'state', 'due_at'],
    jobs_lane: ['lane', 'state', 'seq'],
    jobs_tenant: ['tenant_id', 'seq'],
    jobs_ended: ['state', 'ended_at'],
    jobs_once: { on: ['kind', 'once_key'], isUnique: true },
  },
})

declare module '../store/tables.ts' {
  interface LedgerTables {
    jobs: TableOf<typeof jobTable>
  }
}
