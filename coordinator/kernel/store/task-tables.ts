import type { Generated } from 'kysely'

export interface TaskTables {
  a2a_tasks: A2aTaskRow
  a2a_push_configs: A2aPushConfigRow
  task_runs: TaskRunRow
  task_workers: TaskWorkerRow
  task_mail: TaskMailRow
  task_messages: TaskMessageRow
  task_transitions: TaskTransitionRow
}

/** A task as @a2a-js/sdk 1.3 keeps it: `server/database/task/schema`. */
interface A2aTaskRow {
  /** The tenant's id. */
  tenant: string
  owner: string
  id: string
  context_id: string
  status_last_updated: number
  /** `TASK_STATE_…`. */
  status_state: string | null
  status: string | null
  artifacts: string | null
  history: string | null
  metadata: string | null
  protocol_version: string | null
}

/** Push configuration of a task: the address for its events, with secrets sealed. */
interface A2aPushConfigRow {
  tenant: string
  owner: string
  task_id: string
  config_id: string
  config_data: string | null
  protocol_version: string | null
  /**
   * Key that created the configuration: events contain no more than this key may see. The column is
   * ours, in addition to those of the library.
   */
  key_id: Generated<string | null>
}

/** Run of a task: its operation, its owner, and the input or approval that it waits for. */
export interface TaskRunRow {
  task_id: string
  tenant_id: string
  /** Null for a caller without a key. */
  key_id: string | null
  request_id: string
  /** Null while it is not known what is asked for. */
  operation_id: string | null
  input_json: string
  cell_id: string | null
  waits: 'input' | 'gate' | null
  gate_request_id: string | null
  /** 1: its ends stand in the audit. */
  audited: number
  created_at: number
  /** The process that is at work on it and alone may write it; null while none is. */
  worker: string | null
}

/** A process that runs tasks; unix time, milliseconds, until which it counts as alive. */
interface TaskWorkerRow {
  id: string
  lease_until: number
}

/** Input to a task that its owner has not acted on yet; at most one of each kind. */
export interface TaskMailRow {
  task_id: string
  kind: 'cancel' | 'message' | 'decision' | 'resume'
  tenant_id: string
  /** `key:…` or `coordinator`. */
  actor: string
  /** The message and what it asks for; null for the other kinds. */
  body_json: string | null
  /** Unix time, milliseconds. */
  posted_at: number
}

/** A message of a key that was taken, and the task that it is part of. */
interface TaskMessageRow {
  key_id: string
  message_id: string
  task_id: string
  digest: string
}

/** One change of a task's state; `hash` covers the row and the hash of the one before. */
export interface TaskTransitionRow {
  task_id: string
  seq: number
  at: number
  from_state: string | null
  to_state: string
  actor: string
  reason: string | null
  gate_request_id: string | null
  prev: string
  hash: string
}
