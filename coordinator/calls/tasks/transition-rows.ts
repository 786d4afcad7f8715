import { type Kysely, sql, type Transaction } from 'kysely'
import type { Logger } from 'pino'
import { readEach } from '../../kernel/store/read-each.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { type TaskTransition, taskTransitionTable } from './task-transition.table.ts'

type Reader = Kysely<LedgerTables> | Transaction<LedgerTables>

/** Reads the history of a task; a row that cannot be read leaves a gap. */
export const readTransitions = async (
  db: Reader,
  taskId: string,
  { after = 0, limit = 1000 }: { after?: number; limit?: number } = {},
  logger?: Pick<Logger, 'warn'>,
): Promise<TaskTransition[]> => {
  const rows = await db
    .selectFrom('task_transitions')
    .selectAll()
    .where('task_id', '=', taskId)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit)
    .execute()
  return readEach(rows, taskTransitionTable.read, logger)
}

export const lastTransition = async (
  db: Reader,
  taskId: string,
): Promise<TaskTransition | undefined> => {
  const row = await db
    .selectFrom('task_transitions')
    .selectAll()
    .where('task_id', '=', taskId)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row && taskTransitionTable.read(row)
}

/**
 * Returns the newest transitions of each task, at most `limit` per task, oldest first, without those
 * that cannot be read.
 */
export const readNewest = async (
  db: Reader,
  taskIds: readonly string[],
  limit: number,
  logger?: Pick<Logger, 'warn'>,
): Promise<Map<string, TaskTransition[]>> => {
  const rows = await db
    .selectFrom('task_transitions')
    .selectAll()
    .where('task_id', 'in', taskIds)
    .where(
      'seq',
      '>',
      sql<number>`(select max(newer.seq) - ${limit} from task_transitions as newer
        where newer.task_id = task_transitions.task_id)`,
    )
    .orderBy('task_id')
    .orderBy('seq')
    .execute()
  return Map.groupBy(readEach(rows, taskTransitionTable.read, logger), ({ taskId }) => taskId)
}
