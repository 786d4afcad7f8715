import type { Kysely, Transaction } from 'kysely'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { iso } from '../../../shared/time.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { a2aTaskTable, type TaskRow } from './a2a-task.table.ts'
import type { Task, TaskStatus } from './task.ts'
import { isSeenBy, type TaskReader } from './task-reader.ts'
import { rowOfRun, type TaskRun, toTaskRun } from './task-run.ts'
import type { TaskState } from './task-state.ts'

type Reader = Kysely<LedgerTables>
type Trx = SealedTrx

/** Owner of every row of a task; visibility within a tenant is decided by `TaskReader`. */
export const OWNER = 'tenant'

/** Version of the form in which rows of tasks and of their webhooks are stored. */
export const FORM = '1.0'

export const saveTask = async (trx: Trx, task: Task, tenantId: string): Promise<void> => {
  const { status } = task
  const { tenant, owner, id, ...facts } = a2aTaskTable.write({
    ...task,
    metadata: task.metadata,
    tenant: tenantId,
    owner: OWNER,
    statusLastUpdated: Date.parse(status.timestamp),
    statusState: status.state,
    protocolVersion: FORM,
  })
  await trx
    .insertInto('a2a_tasks')
    .values({ tenant, owner, id, ...facts })
    .onConflict(clause => clause.columns(['tenant', 'owner', 'id']).doUpdateSet(facts))
    .execute()
}

/** The task of a row; artifacts and history that were not selected are empty. */
export const toTask = ({
  id,
  contextId,
  status,
  artifacts = [],
  history = [],
  metadata,
}: Pick<TaskRow, 'id' | 'contextId' | 'status' | 'artifacts' | 'history' | 'metadata'>): Task => ({
  id,
  contextId,
  status,
  artifacts,
  history,
  metadata,
})

/** Reads a task of a tenant; with a reader, only one that the reader may see. */
const findTask = async (
  db: Reader,
  id: string,
  tenantId: string,
  reader?: TaskReader,
): Promise<Task> => {
  const query = db
    .selectFrom('a2a_tasks')
    .selectAll()
    .where('tenant', '=', tenantId)
    .where('owner', '=', OWNER)
    .where('id', '=', id)
  const row = await (reader ? query.where(isSeenBy(reader)) : query).executeTakeFirst()
  if (row === undefined) throw createUnknownError('task', id)
  return toTask(a2aTaskTable.read(row))
}

/**
 * Throws `not_found`, with the same message for a task of another tenant and for an unknown one.
 */
export const readTask = (db: Reader, id: string, tenantId: string): Promise<Task> =>
  findTask(db, id, tenantId)

/** Reads a task as `readTask` does; throws `not_found` also when the reader may not see it. */
export const readSeen = (db: Reader, id: string, reader: TaskReader): Promise<Task> =>
  findTask(db, id, reader.tenantId, reader)

export type Update = Pick<TaskStatus, 'state' | 'timestamp'>

/**
 * Returns the state and last update of each task by id; the time alone is ambiguous, since two
 * updates may fall in one millisecond. A task whose state cannot be read is absent.
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
    readEach(rows, a2aTaskTable.readSome, undefined).map(
      ({ id, statusState: state, statusLastUpdated }) => [
        id,
        { state, timestamp: iso(statusLastUpdated) },
      ],
    ),
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
  if (row === undefined) throw createUnknownError('task', taskId)
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

/** States as they are stored, for a condition. */
export const storedStates = (...states: TaskState[]): (string | null)[] =>
  states.map(a2aTaskTable.columns.status_state.write)

/** States in which a task continues without its caller; such tasks are not purged. */
const MOVING_STATES = storedStates('submitted', 'working', 'auth-required')

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
