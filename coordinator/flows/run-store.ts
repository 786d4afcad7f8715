import type { Kysely, Transaction } from 'kysely'
import { ShoalError } from '../../shared/errors.ts'
import type { Job } from '../queue/job.ts'
import { JobError } from '../queue/job-error.ts'
import { countAll, countMatchingRows } from '../store/count.ts'
import type { FlowRunRow, FlowStepRow } from '../store/flow-tables.ts'
import type { LedgerTables } from '../store/tables.ts'
import { type FlowRun, hasEnded, type RunState, runOf, type StepCall, stepCallOf } from './run.ts'

type Trx = Transaction<LedgerTables>
type Db = Kysely<LedgerTables>

/** Reads a run. Throws `not_found`, also for a run of another tenant. */
export const readRun = async (db: Db, id: string, tenantId?: string): Promise<FlowRun> => {
  const row = await db.selectFrom('flow_runs').selectAll().where('id', '=', id).executeTakeFirst()
  if (row !== undefined && (tenantId === undefined || row.tenant_id === tenantId)) return runOf(row)
  throw new ShoalError('not_found', `no run ${id}`)
}

interface RunFilter {
  flowId?: string | undefined
  state?: RunState | undefined
  limit: number
}

/** Runs of a tenant, newest first. */
export const readRuns = async (
  db: Db,
  tenantId: string,
  { flowId, state, limit }: RunFilter,
): Promise<FlowRun[]> => {
  let query = db
    .selectFrom('flow_runs')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
  if (flowId !== undefined) query = query.where('flow_id', '=', flowId)
  if (state !== undefined) query = query.where('state', '=', state)
  return (await query.execute()).map(runOf)
}

export interface RunCount {
  flowId: string
  synergyId: string | null
  state: RunState
  runs: number
}

/** Number of runs of a tenant by flow, synergy and state. */
export const countRuns = async (db: Db, tenantId: string): Promise<RunCount[]> => {
  const rows = await db
    .selectFrom('flow_runs')
    .where('tenant_id', '=', tenantId)
    .groupBy(['flow_id', 'synergy_id', 'state'])
    .select(['flow_id', 'synergy_id', 'state', countAll.as('runs')])
    .execute()
  return rows.map(row => ({
    flowId: row.flow_id,
    synergyId: row.synergy_id,
    state: row.state as RunState,
    runs: row.runs,
  }))
}

/** Runs of a tenant that have not ended. */
export const countOpenRuns = (db: Db, tenantId: string): Promise<number> =>
  countMatchingRows(
    db.selectFrom('flow_runs').where('tenant_id', '=', tenantId).where('ended_at', 'is', null),
  )

/** True while a run has not ended. */
export const isOpenRun = async (db: Db, id: string): Promise<boolean> =>
  (await countMatchingRows(
    db.selectFrom('flow_runs').where('id', '=', id).where('ended_at', 'is', null),
  )) > 0

/** Runs of a synergy that were started since a time, in Unix milliseconds. */
export const countStarted = (
  db: Db,
  { tenantId, synergyId, since }: { tenantId: string; synergyId: string; since: number },
): Promise<number> =>
  countMatchingRows(
    db
      .selectFrom('flow_runs')
      .where('tenant_id', '=', tenantId)
      .where('created_at', '>', since)
      .where('synergy_id', '=', synergyId),
  )

/** Calls of a run in the order of their steps; a compensation follows its step. */
export const readStepCalls = async (db: Db, runId: string): Promise<StepCall[]> => {
  const rows = await db
    .selectFrom('flow_steps')
    .selectAll()
    .where('run_id', '=', runId)
    .orderBy('position')
    .orderBy('undo')
    .execute()
  return rows.map(stepCallOf)
}

/**
 * Takes the run for this claim of its job, so that earlier claims can write nothing more. Throws
 * JobError when a later claim has the run.
 */
export const takeRun = async (trx: Trx, runId: string, job: Job): Promise<FlowRun> => {
  const row = await trx
    .updateTable('flow_runs')
    .set({ fence: job.fence })
    .where('id', '=', runId)
    .where('fence', '<=', job.fence)
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) throw createLostError()
  return runOf(row)
}

/**
 * Writes the state of a run. Throws JobError once a later claim has the run, and for the end of a run
 * that an operator has just cancelled.
 */
export const writeRun = async (
  trx: Trx,
  { id }: Pick<FlowRun, 'id'>,
  fence: number,
  change: Partial<Pick<FlowRunRow, 'state' | 'reason'>>,
  now: number,
): Promise<void> => {
  const ended = change.state !== undefined && hasEnded({ state: change.state as RunState })
  let query = trx
    .updateTable('flow_runs')
    .set({ ...change, changed_at: now, ...(ended ? { ended_at: now } : {}) })
    .where('id', '=', id)
    .where('fence', '=', fence)
  if (change.state === 'done') query = query.where('cancelled', '=', 0)
  const { numUpdatedRows } = await query.executeTakeFirst()
  if (numUpdatedRows === 0n) throw createLostError()
}

/** Adds a call of a run, or replaces what is stored of it. */
export const writeStepCall = async (trx: Trx, row: FlowStepRow): Promise<void> => {
  await trx
    .insertInto('flow_steps')
    .values(row)
    .onConflict(conflict => conflict.columns(['run_id', 'position', 'undo']).doUpdateSet(row))
    .execute()
}

const createLostError = (): JobError => new JobError('another worker has the run', { early: true })

/** Deletes the runs that ended before a time. */
export const forgetRuns = async (trx: Trx, before: number): Promise<void> => {
  const old = trx.selectFrom('flow_runs').select('id').where('ended_at', '<', before)
  await trx.deleteFrom('flow_steps').where('run_id', 'in', old).execute()
  await trx.deleteFrom('flow_runs').where('ended_at', '<', before).execute()
}
