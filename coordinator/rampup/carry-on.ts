import { isDeepStrictEqual } from 'node:util'
import type { Transaction } from 'kysely'
import { ShoalError } from '../../shared/errors.ts'
import { mergeDocuments } from '../../shared/wire/desired.ts'
import type { Actor } from '../audit/audit.ts'
import { appendAudit } from '../audit/audit.ts'
import type { Configs } from '../control/configs.ts'
import type { Alert } from '../fleet/alert.ts'
import { isRoutable } from '../fleet/cell.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Job } from '../queue/job.ts'
import { JobError } from '../queue/job-error.ts'
import type { RampUpRow } from '../store/flow-tables.ts'
import type { Ledger } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { type RampUp, type RampUpState, rampUpOf } from './ramp-up.ts'

interface CarryOnParts {
  ledger: Ledger
  configs: Pick<Configs, 'set' | 'show'>
  fleet: Pick<Fleet, 'cell'>
  alerts: () => readonly Alert[]
  /** Unix time, milliseconds. */
  now: () => number
}

type Trx = Transaction<LedgerTables>

const LOOK_SECONDS = 1

/**
 * Continues a ramp-up by one check: gives the cells of the stage their settings, checks the cells of
 * all stages so far, and goes to the next stage after the hold. A fault restores the earlier settings
 * of the cells. Throws JobError to be called again.
 */
export const carryOn = async (parts: CarryOnParts, id: string, job: Job): Promise<void> => {
  const { ledger, now } = parts
  const rampUp = await takeRampUp(ledger, id, job)
  if (rampUp.state !== 'running') return
  const { plan, stage, stageBeganAt, heldSince } = rampUp
  const write = (change: Partial<RampUpRow>) =>
    ledger.free.write(trx => updateRampUp(trx, rampUp, job, change, now()))
  const abort = async (fault: string): Promise<void> => {
    // stored first: after a crash the fault may be gone, and the cells must still be restored
    await write({ aborted: 1, reason: fault })
    await restoreSettings(parts, rampUp)
    return endRampUp(parts, rampUp, job, 'aborted', fault)
  }
  if (rampUp.isAborted) return abort(rampUp.reason ?? 'aborted by an operator')
  const fault = await findFault(parts, rampUp, heldSince !== undefined)
  if (fault !== undefined) return abort(fault)
  if (!(await applyStage(parts, rampUp))) {
    if (now() - stageBeganAt > plan.apply_seconds * 1000)
      return abort('the cells did not apply their settings in time')
    throw createRetry('waiting for the cells')
  }
  if (heldSince === undefined) {
    await write({ held_since: now() })
    throw createRetry('holding')
  }
  if (now() - heldSince < plan.hold_seconds * 1000) throw createRetry('holding')
  if (stage + 1 === plan.stages.length) return endRampUp(parts, rampUp, job, 'done')
  await write({ stage: stage + 1, stage_began_at: now(), held_since: null })
  throw createRetry('continuing with the next stage')
}

const createRetry = (reason: string): JobError =>
  new JobError(reason, { early: true, retryAfterSeconds: LOOK_SECONDS })

/** Takes the ramp-up for this claim of its job, so that earlier claims can write nothing more. */
const takeRampUp = ({ free }: Ledger, id: string, job: Job): Promise<RampUp> =>
  free.write(async trx => {
    const row = await trx
      .updateTable('ramp_ups')
      .set({ fence: job.fence })
      .where('id', '=', id)
      .where('fence', '<=', job.fence)
      .returningAll()
      .executeTakeFirst()
    if (row === undefined) throw createRetry('another worker has the ramp-up')
    return rampUpOf(row)
  })

const updateRampUp = async (
  trx: Trx,
  { id }: RampUp,
  { fence }: Job,
  change: Partial<RampUpRow>,
  now: number,
): Promise<void> => {
  const { numUpdatedRows } = await trx
    .updateTable('ramp_ups')
    .set({ ...change, changed_at: now })
    .where('id', '=', id)
    .where('fence', '=', fence)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw createRetry('another worker has the ramp-up')
}

const endRampUp = async (
  { ledger, now }: CarryOnParts,
  rampUp: RampUp,
  job: Job,
  state: RampUpState,
  reason?: string,
): Promise<void> => {
  const ended = { state, reason: reason ?? null, ended_at: now() }
  await ledger.sealed.write(async trx => {
    await updateRampUp(trx, rampUp, job, ended, now())
    await appendAudit(trx, {
      ...actorOf(rampUp),
      at: now(),
      tenant: rampUp.tenantId,
      action: 'rampup.end',
      subject: rampUp.id,
      outcome: 'done',
      details: { state, reason: reason ?? null },
    })
  })
}

const actorOf = ({ keyId, requestId }: RampUp): Actor => ({ actor: `key:${keyId}`, requestId })

/** Cells that have their settings by now, those of the stage in progress included. */
const cellsSoFar = ({ plan, stage }: RampUp): string[] => plan.stages.slice(0, stage + 1).flat()

/** Gives the cells of the stage their settings. True once each has applied them. */
const applyStage = async (parts: CarryOnParts, rampUp: RampUp): Promise<boolean> => {
  const { configs } = parts
  const { plan, stage } = rampUp
  let applied = true
  for (const cellId of plan.stages[stage] ?? []) {
    const document = mergeDocuments(plan.before[cellId] ?? {}, plan.document)
    if (!isDeepStrictEqual(await readOwnDocument(configs, cellId), document))
      await configs.set({ scope: 'cell', name: cellId, document }, actorOf(rampUp))
    const { version, reported } = await configs.show(cellId)
    const has = reported?.state === 'applied' && reported.applied_version >= version
    applied &&= has
  }
  return applied
}

/** Restores the earlier settings of cells whose settings nobody has changed since. */
const restoreSettings = async ({ configs }: CarryOnParts, rampUp: RampUp): Promise<void> => {
  const { plan } = rampUp
  for (const cellId of cellsSoFar(rampUp)) {
    const before = plan.before[cellId] ?? {}
    const given = mergeDocuments(before, plan.document)
    if (!isDeepStrictEqual(await readOwnDocument(configs, cellId), given)) continue
    await configs.set({ scope: 'cell', name: cellId, document: before }, actorOf(rampUp))
  }
}

const readOwnDocument = async (
  configs: Pick<Configs, 'show'>,
  cellId: string,
): Promise<Record<string, unknown> | undefined> =>
  (await showCell(configs, cellId))?.sources.find(({ scope }) => scope === 'cell')?.document

/** Desired settings of a cell; undefined for one that is no longer enrolled. */
const showCell = async (configs: Pick<Configs, 'show'>, cellId: string) => {
  try {
    return await configs.show(cellId)
  } catch (error) {
    if (error instanceof ShoalError && error.code === 'not_found') return undefined
    throw error
  }
}

/** First reason to abort: refused settings, a new critical alert, or a cell lost during the hold. */
const findFault = async (
  { configs, fleet, alerts }: CarryOnParts,
  rampUp: RampUp,
  isHolding: boolean,
): Promise<string | undefined> => {
  const cells = cellsSoFar(rampUp)
  const alert = alerts().find(
    ({ cellId = '', level, raisedAt, clearedAt }) =>
      level === 'critical' &&
      clearedAt === undefined &&
      raisedAt >= rampUp.createdAt &&
      cells.includes(cellId),
  )
  if (alert !== undefined) return `alert on ${alert.cellId}: ${alert.message}`
  for (const cellId of cells) {
    const shown = await showCell(configs, cellId)
    if (shown === undefined) return `${cellId} is no longer enrolled`
    const { sources, reported } = shown
    const own = sources.find(({ scope }) => scope === 'cell')
    const isRefused = reported?.state === 'refused' || reported?.state === 'rolled_back'
    if (isRefused && own !== undefined && reported.desired_version >= own.version)
      return `${cellId} has ${reported.state === 'refused' ? 'refused' : 'rolled back'} its settings`
    const cell = fleet.cell(cellId)
    if (isHolding && (cell === undefined || !isRoutable(cell)))
      return `${cellId} no longer serves requests`
  }
  return undefined
}
