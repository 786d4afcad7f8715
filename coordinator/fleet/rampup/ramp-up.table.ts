import {
  flag,
  integer,
  json,
  oneOf,
  optional,
  real,
  reference,
  text,
  time,
} from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'
import { RAMP_UP_STATES, StartedPlan } from './ramp-up.ts'

/** One ramp-up of settings in stages. Times are Unix milliseconds. */
export const rampUpTable = defineTable('ramp_ups', {
  columns: {
    id: text(),
    tenant_id: reference('tenants'),
    key_id: text(),
    request_id: text(),
    job_id: text(),
    state: oneOf(RAMP_UP_STATES),
    reason: optional(text()),
    /** The approved plan, and the settings of its cells before. */
    plan_json: json(StartedPlan),
    /** Stage in progress, from 0. */
    stage: integer(),
    stage_began_at: time(),
    /** Time since which every cell of the stage has its settings; null before. */
    held_since: optional(time()),
    /** Time since which a cell with the settings serves no requests; null while all do. */
    lost_since: optional(time()),
    /** Failed requests on the cells in the hour before, in percent; null until the first look. */
    errors_before_percent: optional(real()),
    /** True once a person has asked to abort it. */
    aborted: flag(),
    /** Fence of the job's claim that may write; only grows. */
    fence: integer(),
    created_at: time(),
    changed_at: time(),
    ended_at: optional(time()),
  },
  key: ['id'],
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    ramp_ups: TableOf<typeof rampUpTable>
  }
}
