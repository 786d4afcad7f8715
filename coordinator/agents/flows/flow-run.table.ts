import * as z from 'zod'
import {
  flag,
  integer,
  json,
  oneOf,
  optional,
  reference,
  text,
  time,
} from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'
import { FlowStep } from './flow.ts'
import { RUN_STATES } from './run.ts'

/** One run of a flow. Times are Unix milliseconds. */
export const flowRunTable = defineTable('flow_runs', {
  columns: {
    id: text(),
    tenant_id: reference('tenants'),
    flow_id: text(),
    /** Synergy that started the run; null for a run started by itself. */
    synergy_id: optional(text()),
    /** Steps as they were when the run was started; a change of the configuration leaves it alone. */
    steps_json: json(z.array(FlowStep)),
    /** Key whose rights the steps have. */
    key_id: text(),
    request_id: text(),
    job_id: text(),
    state: oneOf(RUN_STATES),
    reason: optional(text()),
    /** True once a person has cancelled the run. */
    cancelled: flag(),
    /** Fence of the job's claim that may write; only grows. */
    fence: integer(),
    created_at: time(),
    changed_at: time(),
    ended_at: optional(time()),
  },
  key: ['id'],
  indexes: {
    flow_runs_tenant: ['tenant_id', 'created_at'],
    flow_runs_ended: ['tenant_id', 'ended_at'],
    flow_runs_retention: ['ended_at'],
    flow_runs_state: ['tenant_id', 'state', 'created_at'],
    flow_runs_flow: ['tenant_id', 'flow_id', 'created_at'],
    flow_runs_counts: ['tenant_id', 'flow_id', 'synergy_id', 'state'],
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    flow_runs: TableOf<typeof flowRunTable>
  }
}
