import type { TaskReader } from '../tasks/task-reader.ts'
import { mayCall } from './call.ts'
import type { TaskCaller } from './context.ts'
import type { Operation } from './operation.ts'

export type ReaderOf = (caller: Pick<TaskCaller, 'key' | 'tenantId'>) => TaskReader

/** What a caller sees of tasks, by what its key may call at the time of asking. */
export const taskReaders =
  (operations: readonly Operation[]): ReaderOf =>
  ({ key, tenantId = '' }) => ({
    tenantId,
    keyId: key?.id,
    personId: key?.personId,
    operationIds: operations.filter(operation => mayCall(operation, key)).map(({ id }) => id),
  })
