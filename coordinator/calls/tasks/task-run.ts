import type { EntityOf } from '../../kernel/store/define-table.ts'
import { type TaskRunRow, taskRunTable } from './task-run.table.ts'

/** Call that a task executes and its requester; sufficient to resume the task after a restart. */
export type TaskRun = Omit<EntityOf<typeof taskRunTable>, 'worker'>

export const toTaskRun = (row: TaskRunRow): TaskRun => {
  const { worker: _, ...run } = taskRunTable.read(row)
  return run
}

export const rowOfRun = (run: TaskRun): Omit<TaskRunRow, 'worker'> => {
  const { worker: _, ...row } = taskRunTable.write({
    ...run,
    input: run.input ?? {},
    worker: undefined,
  })
  return row
}
