import type { Job } from '../../kernel/queue/job.ts'
import { applyStage, restoreSettings, showCells } from './cell-settings.ts'
import {
  type FaultParts,
  findErrorRise,
  findFault,
  listLostCells,
  readErrorsBefore,
} from './find-fault.ts'
import { cellsSoFar, type RampUp } from './ramp-up.ts'
import { createRetry, endRampUp, takeRampUp, updateRampUp } from './ramp-up-claim.ts'

/**
 * Time for which a cell may be away: cells reconnect this long after a coordinator has started, or
 * has taken the ramp-up over.
 */
const LOST_MS = 60_000

/**
 * Continues a ramp-up by one check: gives the cells of the stage their settings, checks those of
 * all stages so far, and goes to the next stage after the hold. Any fault restores the settings that
 * the cells had before. Throws JobError to be called again.
 */
export const continueRampUp = async (parts: FaultParts, id: string, job: Job): Promise<void> => {
  const { ledger, now } = parts
  const rampUp = await takeRampUp(ledger, id, job)
  if (rampUp.state !== 'running') return
  const { plan, stage, stageBeganAt, heldSince } = rampUp
  const write = (change: Partial<RampUp>) => updateRampUp(ledger, rampUp, job, change, now())
  const abort = async (reason: string): Promise<void> => {
    // stored first: after a crash the fault may be gone, and the cells must still be restored
    if (!rampUp.aborted) await write({ aborted: true, reason })
    await restoreSettings(parts, rampUp, job)
    await endRampUp(parts, rampUp, job, { state: 'aborted', reason })
  }
  if (rampUp.aborted) return abort(rampUp.reason ?? 'aborted by an operator')
  if (rampUp.errorsBeforePercent === undefined) {
    rampUp.errorsBeforePercent = await readErrorsBefore(parts, rampUp)
    await write({ errorsBeforePercent: rampUp.errorsBeforePercent })
  }
  const shownCells = await showCells(parts, cellsSoFar(rampUp))
  const fault = await findFault(parts, rampUp, shownCells)
  if (fault !== undefined) return abort(fault)
  const applied = await applyStage(parts, rampUp, job, shownCells)
  if (applied.fault !== undefined) return abort(applied.fault)
  if (!applied.isComplete) {
    if (now() - stageBeganAt > plan.apply_seconds * 1000)
      return abort('the cells did not apply their settings in time')
    throw createRetry('waiting for the cells')
  }
  if (heldSince === undefined) {
    await write({ heldSince: now() })
    throw createRetry('holding')
  }
  const lost = await noteLostCells(parts, rampUp, write)
  if (lost !== undefined) return abort(lost)
  if (now() - heldSince < plan.hold_seconds * 1000) throw createRetry('holding')
  const errors = await findErrorRise(parts, rampUp, { isFresh: true })
  if (errors !== undefined) return abort(errors)
  if (stage + 1 === plan.stages.length) return endRampUp(parts, rampUp, job, { state: 'done' })
  await write({ stage: stage + 1, stageBeganAt: now(), heldSince: undefined })
  throw createRetry('continuing with the next stage')
}

/** Reason to abort once a cell has been away for too long; throws JobError while one is away. */
const noteLostCells = async (
  { fleet, now }: FaultParts,
  rampUp: RampUp,
  write: (change: Partial<RampUp>) => Promise<void>,
): Promise<string | undefined> => {
  const [lost] = listLostCells(fleet, rampUp)
  const { lostSince } = rampUp
  if (lost === undefined) {
    if (lostSince !== undefined) await write({ lostSince: undefined })
    return undefined
  }
  if (lostSince === undefined) await write({ lostSince: now() })
  else if (now() - lostSince > LOST_MS) return `${lost} no longer serves requests`
  throw createRetry(`waiting for ${lost}, which serves no requests`)
}
