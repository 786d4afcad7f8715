import { type Kysely, sql, type Transaction } from 'kysely'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { type TaskTransition, taskTransitionTable } from './task-transition.table.ts'

type Reader = Kysely<LedgerTables> | Transaction<LedgerTables>

export const readTransitions = async (
  db: Reader,
  taskId: string,
  { after = 0, limit = 1000 }: { after?: number; limit?: number } = {},
): Promise<TaskTransition[]> => {
  const rows = await db
    .selectFrom('task_transitions')
    .selectAll()
    .where('task_id', '=', taskId)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit)
    .execute()
  return rows.map(taskTransitionTable.read)
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

/** Returns the newest transitions of each task, at most `limit` per task, oldest first. */
export const readNewest = async (
  db: Reader,
  taskIds: readonly string[],
  limit: number,
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
  return Map.groupBy(rows.map(taskTransitionTable.read), ({ taskId }) => taskId)
}
