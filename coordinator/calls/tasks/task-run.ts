import type { TaskRunRow } from './task-run.table.ts'

/** Call that a task executes and its requester; sufficient to resume the task after a restart. */
export interface TaskRun {
  taskId: string
  tenantId: string
  /** Id of the requester's key; undefined for a caller without one. */
  keyId: string | undefined
  requestId: string
  /** Operation to call; undefined until the request is understood. */
  operationId: string | undefined
  input: unknown
  /** Cell that the caller named. */
  cellId: string | undefined
  waits: 'input' | 'gate' | undefined
  gateRequestId: string | undefined
  /** True when the audit records the task's outcome; true for operations that do more than read. */
  audited: boolean
  createdAt: number
}

export const toTaskRun = (row: TaskRunRow): TaskRun => ({
  taskId: row.task_id,
  tenantId: row.tenant_id,
  keyId: row.key_id ?? undefined,
  requestId: row.request_id,
  operationId: row.operation_id ?? undefined,
  input: JSON.parse(row.input_json),
  cellId: row.cell_id ?? undefined,
  waits: row.waits ?? undefined,
  gateRequestId: row.gate_request_id ?? undefined,
  audited: row.audited === 1,
  createdAt: row.created_at,
})

export const rowOfRun = (run: TaskRun): Omit<TaskRunRow, 'worker'> => ({
  task_id: run.taskId,
  tenant_id: run.tenantId,
  key_id: run.keyId ?? null,
  request_id: run.requestId,
  operation_id: run.operationId ?? null,
  input_json: JSON.stringify(run.input ?? {}),
  cell_id: run.cellId ?? null,
  waits: run.waits ?? null,
  gate_request_id: run.gateRequestId ?? null,
  audited: run.audited ? 1 : 0,
  created_at: run.createdAt,
})
