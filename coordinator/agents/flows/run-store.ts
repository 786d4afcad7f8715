import type { Kysely, Transaction } from 'kysely'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { takeFenced, updateFenced } from '../../kernel/leases/fenced-rows.ts'
import type { Job } from '../../kernel/queue/job.ts'
import { JobError } from '../../kernel/queue/job-error.ts'
import { countAll, countMatchingRows } from '../../kernel/store/count.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { flowRunTable } from './flow-run.table.ts'
import { flowStepTable } from './flow-step.table.ts'
import {
  type FlowRun,
  hasEnded,
  type RunState,
  type RunSummary,
  type StepCall,
  type StepCallWithOutput,
} from './run.ts'

type Trx = Transaction<LedgerTables>
type Db = Kysely<LedgerTables>

/** Reads a run. Throws `not_found`, also for a run of another tenant. */
export const readRun = async (db: Db, id: string, tenantId?: string): Promise<FlowRun> => {
  const row = await db.selectFrom('flow_runs').selectAll().where('id', '=', id).executeTakeFirst()
  if (row !== undefined && (tenantId === undefined || row.tenant_id === tenantId))
    return flowRunTable.read(row)
  throw createUnknownError('run', id)
}

interface RunFilter {
  flowId?: string | undefined
  state?: RunState | undefined
  limit: number
}

/** Columns of a summary: the steps can be many pages. */
const SUMMARY = [
  'id',
  'tenant_id',
  'flow_id',
  'synergy_id',
  'key_id',
  'request_id',
  'job_id',
  'state',
  'reason',
  'cancelled',
  'fence',
  'created_at',
  'changed_at',
  'ended_at',
] as const

/** Runs of a tenant, newest first. */
export const readRuns = async (
  db: Db,
  tenantId: string,
  filter: RunFilter,
): Promise<RunSummary[]> =>
  (await selectRuns(db, tenantId, filter).select(SUMMARY).execute()).map(flowRunTable.readSome)

/** Runs of a tenant with their steps, newest first. */
export const readRunsWithSteps = async (
  db: Db,
  tenantId: string,
  filter: RunFilter,
): Promise<FlowRun[]> =>
  (await selectRuns(db, tenantId, filter).selectAll().execute()).map(flowRunTable.read)

const selectRuns = (db: Db, tenantId: string, { flowId, state, limit }: RunFilter) => {
  let query = db
    .selectFrom('flow_runs')
    .where('tenant_id', '=', tenantId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
  if (flowId !== undefined) query = query.where('flow_id', '=', flowId)
  if (state !== undefined) query = query.where('state', '=', state)
  return query
}

/** Runs of a tenant that have not ended, with their steps, oldest first. */
export const readOpenRuns = async (db: Db, tenantId: string, limit: number): Promise<FlowRun[]> => {
  const rows = await db
    .selectFrom('flow_runs')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('ended_at', 'is', null)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(flowRunTable.read)
}

/** Jobs of the runs of a tenant that wait for a request at a gate, or for a task. */
export const listWaitingJobs = async (
  db: Db,
  tenantId: string,
  awaitedId: string,
): Promise<string[]> => {
  const rows = await db
    .selectFrom('flow_runs')
    .innerJoin('flow_steps', 'flow_steps.run_id', 'flow_runs.id')
    .select('flow_runs.job_id')
    .where('flow_runs.tenant_id', '=', tenantId)
    .where('flow_runs.state', '=', 'waiting')
    .where('flow_steps.state', '=', 'waiting')
    .where(({ eb, or }) =>
      or([
        eb('flow_steps.gate_request_id', '=', awaitedId),
        eb('flow_steps.task_id', '=', awaitedId),
      ]),
    )
    .execute()
  return rows.map(({ job_id }) => job_id)
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
    state: row.state,
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

/** Columns of a call without its output. */
const CALL = [
  'run_id',
  'position',
  'undo',
  'state',
  'gate_request_id',
  'task_id',
  'reason',
  'started_at',
  'ended_at',
] as const

/** Calls of a run in the order of their steps; a compensation follows its step. */
export const readStepCalls = async (db: Db, runId: string): Promise<StepCall[]> =>
  (await selectStepCalls(db, runId).select(CALL).execute()).map(flowStepTable.readSome)

export const readCallsWithOutputs = async (
  db: Db,
  runId: string,
): Promise<StepCallWithOutput[]> => {
  const rows = await selectStepCalls(db, runId).selectAll().execute()
  return rows.map(flowStepTable.read)
}

const selectStepCalls = (db: Db, runId: string) =>
  db.selectFrom('flow_steps').where('run_id', '=', runId).orderBy('position').orderBy('undo')

/** Outputs of completed and failed steps by their positions, from 0. */
export const readOutputs = async (
  db: Db,
  runId: string,
  positions: readonly number[],
): Promise<Map<number, unknown>> => {
  if (positions.length === 0) return new Map()
  const rows = await db
    .selectFrom('flow_steps')
    .select(['position', 'output_json'])
    .where('run_id', '=', runId)
    .where('undo', '=', 0)
    .where('state', 'in', ['done', 'failed'])
    .where('position', 'in', positions)
    .execute()
  return new Map(rows.map(flowStepTable.readSome).map(({ position, output }) => [position, output]))
}

/**
 * Takes the run for this claim of its job, so that earlier claims can write nothing more. Throws
 * JobError when a later claim has the run.
 */
export const takeRun = async (trx: Trx, runId: string, job: Job): Promise<FlowRun> => {
  const row = await takeFenced(trx, 'flow_runs', { id: runId, fence: job.fence })
  if (row === undefined) throw createLostError()
  return flowRunTable.read(row)
}

/**
 * Writes the state of a run. Throws JobError once a later claim has the run, and for the end of a run
 * that an operator has just cancelled.
 */
export const writeRun = async (
  trx: Trx,
  { id }: Pick<FlowRun, 'id'>,
  fence: number,
  change: Partial<Pick<FlowRun, 'state' | 'reason'>>,
  now: number,
): Promise<void> => {
  const ended = change.state !== undefined && hasEnded({ state: change.state })
  let query = updateFenced(trx, 'flow_runs', { id, fence }).set(
    flowRunTable.writeSome({ ...change, changedAt: now, ...(ended ? { endedAt: now } : {}) }),
  )
  if (change.state === 'done') query = query.where('cancelled', '=', 0)
  const { numUpdatedRows } = await query.executeTakeFirst()
  if (numUpdatedRows === 0n) throw createLostError()
}

/** Adds a call of a run, or replaces what is stored of it. */
export const writeStepCall = async (trx: Trx, call: StepCallWithOutput): Promise<void> => {
  const row = flowStepTable.write(call)
  await trx
    .insertInto('flow_steps')
    .values(row)
    .onConflict(conflict => conflict.columns(['run_id', 'position', 'undo']).doUpdateSet(row))
    .execute()
}

const createLostError = (): JobError => new JobError('another worker has the run', { early: true })
