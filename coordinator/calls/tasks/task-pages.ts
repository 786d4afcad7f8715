import type { ExpressionBuilder, ExpressionWrapper, Kysely, SqlBool } from 'kysely'
import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { iso } from '../../../shared/time.ts'
import { countMatchingRows } from '../../kernel/store/count.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { a2aTaskTable } from './a2a-task.table.ts'
import type { Task } from './task.ts'
import { isSeenBy, type TaskReader } from './task-reader.ts'
import { OWNER, storedStates, toTask } from './task-rows.ts'
import type { TaskState } from './task-state.ts'

/** Conditions on listed tasks. */
export interface TaskFilter {
  state?: TaskState | undefined
  contextId?: string | undefined
  /** Unix time in milliseconds; only tasks whose status has changed since. */
  changedAfter?: number | undefined
}

export interface TaskPageRequest extends TaskFilter {
  limit: number
  /** `next` of the previous page; undefined for the first. */
  cursor?: string | undefined
  /** Reads the artifacts, which are empty otherwise. */
  withArtifacts?: boolean
  /** Reads the history, which is empty otherwise. */
  withHistory?: boolean
}

export interface TaskPage {
  tasks: Task[]
  /** Cursor of the next page; undefined after the last one. */
  next: string | undefined
}

/**
 * Lists the tasks that a reader may see, most recently changed first, without those that cannot be
 * read. Throws for a bad cursor.
 */
export const listTasks = async (
  db: Kysely<LedgerTables>,
  request: TaskPageRequest,
  reader: TaskReader,
  logger?: Pick<Logger, 'warn'>,
): Promise<TaskPage> => {
  const { limit, cursor, withArtifacts, withHistory } = request
  const all = db.selectFrom('a2a_tasks').where(filterFor(request, reader))
  const rest = cursor === undefined ? all : all.where(isAfter(parseCursor(cursor)))
  const rows = await rest
    .select(['tenant', 'owner', 'id', 'context_id', 'status_last_updated', 'status', 'metadata'])
    .$if(withArtifacts === true, query => query.select('artifacts'))
    .$if(withHistory === true, query => query.select('history'))
    .orderBy('status_last_updated', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  return {
    tasks: readEach(page, row => toTask(a2aTaskTable.readSome(row)), logger),
    next: last && toCursor({ at: last.status_last_updated, id: last.id }),
  }
}

/** Counts the tasks that a reader may see. */
export const countTasks = (
  db: Kysely<LedgerTables>,
  filter: TaskFilter,
  reader: TaskReader,
): Promise<number> => countMatchingRows(db.selectFrom('a2a_tasks').where(filterFor(filter, reader)))

type Where = (
  eb: ExpressionBuilder<LedgerTables, 'a2a_tasks'>,
) => ExpressionWrapper<LedgerTables, 'a2a_tasks', SqlBool>

const filterFor =
  ({ state, contextId, changedAfter }: TaskFilter, reader: TaskReader): Where =>
  eb =>
    eb.and([
      eb('tenant', '=', reader.tenantId),
      eb('owner', '=', OWNER),
      isSeenBy(reader),
      ...(contextId === undefined ? [] : [eb('context_id', '=', contextId)]),
      ...(state === undefined ? [] : [eb('status_state', 'in', storedStates(state))]),
      ...(changedAfter === undefined ? [] : [eb('status_last_updated', '>', changedAfter)]),
    ])

/** Place in the order of a list: time of the last change in Unix milliseconds, and id. */
interface Cursor {
  at: number
  id: string
}

const isAfter =
  ({ at, id }: Cursor): Where =>
  eb =>
    eb.or([
      eb('status_last_updated', '<', at),
      eb.and([eb('status_last_updated', '=', at), eb('id', '<', id)]),
    ])

const toCursor = ({ at, id }: Cursor): string => Buffer.from(`${iso(at)}|${id}`).toString('base64')

const parseCursor = (cursor: string): Cursor => {
  const [time = '', id] = Buffer.from(cursor, 'base64').toString().split('|')
  const at = Date.parse(time)
  if (id !== undefined && !Number.isNaN(at)) return { at, id }
  throw new ShoalError('invalid_request', 'the cursor is not from a previous page', {
    param: 'cursor',
  })
}
