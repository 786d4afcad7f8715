import {
  type ListTasksRequest,
  type ListTasksResponse,
  type Task,
  type TaskStatus,
  taskStateFromJSON,
} from '@a2a-js/sdk'
import { ServerCallContext } from '@a2a-js/sdk/server'
import { DatabaseTaskStore } from '@a2a-js/sdk/server/database'
import type { Kysely, Transaction } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import { iso } from '../../../shared/time.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { createReaderPlugin, type TaskReader } from './task-reader.ts'
import { rowOfRun, type TaskRun, toTaskRun } from './task-run.ts'

type Reader = Kysely<LedgerTables>
type Trx = SealedTrx

/** Owner of every task in the A2A store; visibility within a tenant is decided by `TaskReader`. */
export const OWNER = 'tenant'

/** Call context for the stores of the A2A library, which need only the tenant. */
export const storeContext = (tenant: string, requestedVersion = '1.0'): ServerCallContext =>
  new ServerCallContext({ tenant, requestedVersion })

const storeOn = (db: Reader): DatabaseTaskStore<LedgerTables> =>
  new DatabaseTaskStore(db, { tableName: 'a2a_tasks', ownerResolver: () => OWNER })

export const saveTask = (trx: Trx, task: Task, tenantId: string): Promise<void> =>
  storeOn(trx).save(task, storeContext(tenantId))

/**
 * Throws `not_found`, with the same message for a task of another tenant and for an unknown one.
 */
export const readTask = async (db: Reader, id: string, tenantId: string): Promise<Task> => {
  const task = await storeOn(db).load(id, storeContext(tenantId))
  if (task === undefined) throw new ShoalError('not_found', `no task ${id}`)
  return task
}

/** Reads a task as `readTask` does; throws `not_found` also when the reader may not see it. */
export const readSeen = (db: Reader, id: string, reader: TaskReader): Promise<Task> =>
  readTask(db.withPlugin(createReaderPlugin(reader)), id, reader.tenantId)

export const listTasks = (
  db: Reader,
  request: ListTasksRequest,
  reader: TaskReader,
): Promise<ListTasksResponse> =>
  storeOn(db.withPlugin(createReaderPlugin(reader))).list(request, storeContext(reader.tenantId))

export type Update = Pick<TaskStatus, 'state' | 'timestamp'>

/**
 * Returns the state and last update of each task by id; the time alone is ambiguous, since two
 * updates may fall in one millisecond.
 */
export const readUpdates = async (
  db: Reader,
  tasks: readonly { taskId: string; tenantId: string }[],
): Promise<Map<string, Update>> => {
  const rows = await db
    .selectFrom('a2a_tasks')
    .select(['id', 'status_state', 'status_last_updated'])
    .where('tenant', 'in', [...new Set(tasks.map(({ tenantId }) => tenantId))])
    .where('owner', '=', OWNER)
    .where(
      'id',
      'in',
      tasks.map(({ taskId }) => taskId),
    )
    .execute()
  return new Map(
    rows.map(({ id, status_state, status_last_updated }) => {
      const timestamp = iso(Number(status_last_updated))
      return [id, { state: taskStateFromJSON(status_state), timestamp }]
    }),
  )
}

/** Adds the run of a new task that `worker` owns. */
export const addRun = async (trx: Trx, run: TaskRun, worker: string): Promise<void> => {
  await trx
    .insertInto('task_runs')
    .values({ ...rowOfRun(run), worker })
    .execute()
}

/** Returns the person whose key requested the task; undefined without a key. */
export const personOf = async (
  db: Reader,
  { keyId }: Pick<TaskRun, 'keyId'>,
): Promise<string | undefined> => {
  if (keyId === undefined) return undefined
  const query = db.selectFrom('keys').select('person_id').where('id', '=', keyId)
  return (await query.executeTakeFirst())?.person_id
}

/**
 * Stores a run; `lets` also ends the ownership of `worker`. Returns false, and writes nothing, when
 * `worker` no longer owns the task.
 */
export const saveRun = async (
  trx: Trx,
  run: TaskRun,
  { worker, lets }: { worker: string; lets: boolean },
): Promise<boolean> => {
  const saved = await trx
    .updateTable('task_runs')
    .set({ ...rowOfRun(run), worker: lets ? null : worker })
    .where('task_id', '=', run.taskId)
    .where('worker', '=', worker)
    .executeTakeFirst()
  return saved.numUpdatedRows > 0n
}

export const readRun = async (db: Reader, taskId: string): Promise<TaskRun> => {
  const row = await db
    .selectFrom('task_runs')
    .selectAll()
    .where('task_id', '=', taskId)
    .executeTakeFirst()
  if (row === undefined) throw new ShoalError('not_found', `no task ${taskId}`)
  return toTaskRun(row)
}

export const readRuns = async (
  db: Reader,
  taskIds: readonly string[],
): Promise<Map<string, TaskRun>> => {
  const rows = await db
    .selectFrom('task_runs')
    .selectAll()
    .where('task_id', 'in', taskIds)
    .execute()
  return new Map(rows.map(row => [row.task_id, toTaskRun(row)]))
}

/** States in which a task continues without its caller; such tasks are not purged. */
const MOVING_STATES = ['SUBMITTED', 'WORKING', 'AUTH_REQUIRED'].map(name => `TASK_STATE_${name}`)

/**
 * Deletes tasks that ended before `before`, or have waited for their caller since then, with all
 * their rows; at most `limit`. Returns the number of deleted tasks.
 */
export const dropEnded = async (
  trx: Transaction<LedgerTables>,
  before: number,
  limit: number,
): Promise<number> => {
  const rows = await trx
    .selectFrom('a2a_tasks')
    .select('id')
    .where('status_state', 'not in', MOVING_STATES)
    .where('status_last_updated', '<', before)
    .limit(limit)
    .execute()
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return 0
  for (const table of [
    'task_runs',
    'task_mail',
    'task_messages',
    'task_transitions',
    'a2a_push_configs',
  ] as const)
    await trx.deleteFrom(table).where('task_id', 'in', ids).execute()
  await trx.deleteFrom('a2a_tasks').where('id', 'in', ids).execute()
  return ids.length
}
