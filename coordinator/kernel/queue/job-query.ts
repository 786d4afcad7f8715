import type { Kysely } from 'kysely'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { countAll, sumOf } from '../store/count.ts'
import type { LedgerTables } from '../store/tables.ts'
import { jobTable } from './job.table.ts'
import type { Job, JobState } from './job.ts'

/** Jobs of one tenant, and those that belong to the whole service. */
export interface JobScope {
  tenantId: string
}

export interface JobFilter {
  kind?: string
  states?: readonly JobState[]
  project?: string
  team?: string
  /** Id of the last job on the previous page. */
  before?: string
  limit: number
}

/** Reads a job. Throws `not_found`, also for a job of another tenant. */
export const readJob = async (
  db: Kysely<LedgerTables>,
  id: string,
  { tenantId }: JobScope,
): Promise<Job> => {
  const row = await db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirst()
  if (row !== undefined && (row.tenant_id ?? tenantId) === tenantId) return jobTable.read(row)
  throw createUnknownError('job', id)
}

/** Returns the matching jobs, newest first. */
export const readJobs = async (
  db: Kysely<LedgerTables>,
  { kind, states, project, team, before, limit }: JobFilter,
  scope: JobScope,
): Promise<Job[]> => {
  let query = selectVisible(db, scope).selectAll().orderBy('seq', 'desc').limit(limit)
  if (kind !== undefined) query = query.where('kind', '=', kind)
  if (states !== undefined) query = query.where('state', 'in', states)
  if (project !== undefined) query = query.where('project', '=', project)
  if (team !== undefined) query = query.where('team', '=', team)
  if (before !== undefined) query = query.where('seq', '<', (await readJob(db, before, scope)).seq)
  return (await query.execute()).map(jobTable.read)
}

export interface BoardLine {
  project: string | null
  team: string | null
  kind: string
  state: JobState
  jobs: number
  costCents: number
}

/** Returns the number and cost of jobs by project, team, kind and state. */
export const readBoard = async (
  db: Kysely<LedgerTables>,
  scope: JobScope,
): Promise<BoardLine[]> => {
  const rows = await selectVisible(db, scope)
    .select([
      'project',
      'team',
      'kind',
      'state',
      countAll.as('jobs'),
      sumOf('cost_cents').as('costCents'),
    ])
    .groupBy(['project', 'team', 'kind', 'state'])
    .orderBy('project', order => order.asc().nullsFirst())
    .orderBy('team', order => order.asc().nullsFirst())
    .orderBy('kind')
    .orderBy('state')
    .execute()
  return rows
}

const selectVisible = (db: Kysely<LedgerTables>, { tenantId }: JobScope) =>
  db
    .selectFrom('jobs')
    .where(({ or, eb }) => or([eb('tenant_id', '=', tenantId), eb('tenant_id', 'is', null)]))

/** Returns those of the kinds that have a job to claim: one cheap read while nothing is due. */
export const listDueKinds = async (
  db: Kysely<LedgerTables>,
  kinds: readonly string[],
  now: number,
): Promise<string[]> => {
  if (kinds.length === 0) return []
  const found = await db
    .selectNoFrom(query =>
      kinds.map((kind, index) => {
        const due = query
          .selectFrom('jobs')
          .select('seq')
          .where('kind', '=', kind)
          .where('state', 'in', ['queued', 'running'])
          .where('due_at', '<=', now)
        return query.exists(due).as(`kind_${index}`)
      }),
    )
    .executeTakeFirstOrThrow()
  return kinds.filter((_, index) => found[`kind_${index}`])
}

/** Counts the jobs by kind and state. */
export const countJobs = (
  db: Kysely<LedgerTables>,
): Promise<{ kind: string; state: string; jobs: number }[]> =>
  db
    .selectFrom('jobs')
    .groupBy(['kind', 'state'])
    .select(['kind', 'state', countAll.as('jobs')])
    .execute()
