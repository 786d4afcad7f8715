import type { TaskCaller } from '../../kernel/declaration/context.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import { mayCall } from '../invoke/access.ts'
import type { TaskReader } from './task-reader.ts'

export type ReaderOf = (caller: Pick<TaskCaller, 'key' | 'tenantId'>) => TaskReader

/**
 * Visibility of tasks for a caller, by what its key may call at this moment. A call open to every
 * key can return data of its caller alone (own sessions, what its role may know of the fleet), so
 * such a task is visible only to its requester.
 */
export const taskReaders = (operations: readonly Operation[]): ReaderOf => {
  const sameForAll = operations.filter(({ access }) => access !== 'key')
  const list = (key: Key | undefined) =>
    sameForAll.filter(operation => mayCall(operation, key)).map(({ id }) => id)
  const open = list(undefined)
  /** A key that changes becomes another object. */
  const known = new WeakMap<Key, readonly string[]>()
  const listFor = (key: Key): readonly string[] => {
    const operationIds = known.get(key) ?? list(key)
    known.set(key, operationIds)
    return operationIds
  }
  return ({ key, tenantId = '' }) => ({
    tenantId,
    keyId: key?.id,
    personId: key?.personId,
    operationIds: key === undefined ? open : listFor(key),
  })
}
