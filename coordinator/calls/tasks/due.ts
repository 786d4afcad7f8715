import { type Kysely, type RawBuilder, sql } from 'kysely'
import { isLeft, type OwnerQuery } from '../../kernel/leases/ownership.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { Mail } from './mailbox.ts'
import { storedStates } from './task-rows.ts'
import { type TaskRunRow, taskRunTable } from './task-run.table.ts'

const WORKING_STATES = storedStates('submitted', 'working')
const AT_ONCE = 500

/**
 * Reads the mail that is due for tasks without a live owner, and for tasks whose gate request was
 * decided.
 */
export const readDue = async (db: Kysely<LedgerTables>, looking: OwnerQuery): Promise<Mail[]> => [
  ...(await readCutOff(db, looking)),
  ...(await readDecided(db, looking)),
]

/** Reads tasks that should be running and have no other live owner. */
const readCutOff = async (db: Kysely<LedgerTables>, looking: OwnerQuery): Promise<Mail[]> => {
  const rows = await db
    .selectFrom('task_runs')
    .innerJoin('a2a_tasks', 'a2a_tasks.id', 'task_runs.task_id')
    .select(['task_runs.task_id', 'task_runs.tenant_id'])
    .where('a2a_tasks.status_state', 'in', WORKING_STATES)
    .where(isLeft('task_runs.worker', looking))
    .where(isUnmailed('resume'))
    .orderBy('task_runs.created_at')
    .execute()
  return rows.map(row => mailFor(row, 'resume'))
}

/** Reads tasks that wait at a gate whose request is no longer pending. */
const readDecided = async (db: Kysely<LedgerTables>, { now }: OwnerQuery): Promise<Mail[]> => {
  const rows = await db
    .selectFrom('task_runs')
    .innerJoin('gate_requests', 'gate_requests.id', 'task_runs.gate_request_id')
    .select(['task_runs.task_id', 'task_runs.tenant_id'])
    .where('task_runs.waits', '=', 'gate')
    .where(({ or, eb }) =>
      or([eb('gate_requests.state', '!=', 'pending'), eb('gate_requests.expires_at', '<=', now)]),
    )
    .where(isUnmailed('decision'))
    .limit(AT_ONCE)
    .execute()
  return rows.map(row => mailFor(row, 'decision'))
}

/** Returns the ids of tasks with mail that no other live process owns, oldest mail first. */
export const readMailed = async (
  db: Kysely<LedgerTables>,
  looking: OwnerQuery,
): Promise<string[]> => {
  const rows = await db
    .selectFrom('task_mail')
    .innerJoin('task_runs', 'task_runs.task_id', 'task_mail.task_id')
    .select('task_mail.task_id')
    .where(isLeft('task_runs.worker', looking))
    .orderBy('task_mail.posted_at')
    .execute()
  return [...new Set(rows.map(({ task_id }) => task_id))]
}

const isUnmailed = (kind: Mail['kind']): RawBuilder<boolean> =>
  sql`not exists (select 1 from task_mail
    where task_mail.task_id = task_runs.task_id and task_mail.kind = ${kind})`

const mailFor = (row: Pick<TaskRunRow, 'task_id' | 'tenant_id'>, kind: Mail['kind']): Mail => ({
  ...taskRunTable.readSome(row),
  kind,
  actor: 'coordinator',
  body: undefined,
})
