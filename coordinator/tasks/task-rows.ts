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
import { ShoalError } from '../../shared/errors.ts'
import { iso } from '../../shared/time.ts'
import type { SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { seenBy, type TaskReader } from './task-reader.ts'
import { rowOfRun, runOf, type TaskRun } from './task-run.ts'

type Reader = Kysely<LedgerTables>
type Trx = SealedTrx

/** Who sees a task of a tenant is for its readers, so there is one owner. */
export const OWNER = 'tenant'

/** The stores of the A2A library need no more of a call than whose it is. */
export const storeContext = (tenant: string, requestedVersion = '1.0'): ServerCallContext =>
  new ServerCallContext({ tenant, requestedVersion })

const storeOn = (db: Reader): DatabaseTaskStore<LedgerTables> =>
  new DatabaseTaskStore(db, { tableName: 'a2a_tasks', ownerResolver: () => OWNER })

export const saveTask = (trx: Trx, task: Task, tenantId: string): Promise<void> =>
  storeOn(trx).save(task, storeContext(tenantId))

/** Throws `not_found`, in the same words for a task of another tenant and for none. */
export const readTask = async (db: Reader, id: string, tenantId: string): Promise<Task> => {
  const task = await storeOn(db).load(id, storeContext(tenantId))
  if (task === undefined) throw new ShoalError('not_found', `no task ${id}`)
  return task
}

/** The same for one that its reader does not see. */
export const readSeen = (db: Reader, id: string, reader: TaskReader): Promise<Task> =>
  readTask(db.withPlugin(seenBy(reader)), id, reader.tenantId)

export const listTasks = (
  db: Reader,
  request: ListTasksRequest,
  reader: TaskReader,
): Promise<ListTasksResponse> =>
  storeOn(db.withPlugin(seenBy(reader))).list(request, storeContext(reader.tenantId))

export type Update = Pick<TaskStatus, 'state' | 'timestamp'>

/** The states of these tasks and since when, by their ids: two may be of one millisecond. */
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

/** A new one, which `worker` runs. */
export const addRun = async (trx: Trx, run: TaskRun, worker: string): Promise<void> => {
  await trx
    .insertInto('task_runs')
    .values({ ...rowOfRun(run), worker })
    .execute()
}

/** Whose key asks for it. */
export const personOf = async (
  db: Reader,
  { keyId }: Pick<TaskRun, 'keyId'>,
): Promise<string | undefined> => {
  if (keyId === undefined) return undefined
  const query = db.selectFrom('keys').select('person_id').where('id', '=', keyId)
  return (await query.executeTakeFirst())?.person_id
}

/**
 * Stores what a task does; `lets` ends the ownership of `worker`. False when `worker` does not own
 * it any more: then nothing was written.
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
  return runOf(row)
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
  return new Map(rows.map(row => [row.task_id, runOf(row)]))
}

/** Something goes on with them by itself. */
const MOVING_STATES = ['SUBMITTED', 'WORKING', 'AUTH_REQUIRED'].map(name => `TASK_STATE_${name}`)

/**
 * Takes tasks away that ended before `before`, or have waited for their caller since then, with all
 * that belongs to them; says how many.
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
