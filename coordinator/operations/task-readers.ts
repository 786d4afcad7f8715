import type { TaskReader } from '../tasks/task-reader.ts'
import type { TaskCaller } from './context.ts'
import { mayCall } from './invoke/access.ts'
import type { Operation } from './operation.ts'

export type ReaderOf = (caller: Pick<TaskCaller, 'key' | 'tenantId'>) => TaskReader

/**
 * What a caller sees of tasks, by what its key may call at the time of asking. What every key may
 * call answers each what it may know (its own sessions, what its role is told of the fleet), so
 * that one is nobody else's.
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
