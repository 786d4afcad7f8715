import type { TaskRunRow } from '../store/task-tables.ts'

/** What a task does, and for whom; enough to go on with it after a restart. */
export interface TaskRun {
  taskId: string
  tenantId: string
  /** Undefined for a caller without a key. */
  keyId: string | undefined
  requestId: string
  /** Undefined while it is not known what is asked for. */
  operationId: string | undefined
  input: unknown
  /** The cell that the caller named. */
  cellId: string | undefined
  waits: 'input' | 'gate' | undefined
  gateRequestId: string | undefined
  /** Its ends stand in the audit: it does more than look. */
  audited: boolean
  createdAt: number
}

export const runOf = (row: TaskRunRow): TaskRun => ({
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
