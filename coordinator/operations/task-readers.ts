import type { TaskReader } from '../tasks/task-reader.ts'
import type { TaskCaller } from './context.ts'
import { mayCall } from './invoke/access.ts'
import type { Operation } from './operation.ts'

export type ReaderOf = (caller: Pick<TaskCaller, 'key' | 'tenantId'>) => TaskReader

/**
 * Visibility of tasks for a caller, by what its key may call at this moment. A call open to every
 * key can return data of its caller alone (own sessions, what its role may know of the fleet), so
 * such a task is visible only to its requester.
 */
export const taskReaders =
  (operations: readonly Operation[]): ReaderOf =>
  ({ key, tenantId = '' }) => ({
    tenantId,
    keyId: key?.id,
    personId: key?.personId,
    operationIds: operations
      .filter(operation => operation.access !== 'key' && mayCall(operation, key))
      .map(({ id }) => id),
  })
