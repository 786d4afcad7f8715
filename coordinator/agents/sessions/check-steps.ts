import { ShoalError } from '../../../shared/errors.ts'
import { requireLive } from './docking.ts'
import type { WaitingCheck } from './session.ts'
import { readSession } from './session-rows.ts'
import type { Commit, DecideStep } from './step.ts'

/** Check that the policy allows, with the transaction that uses its approval. */
export interface PassedCheck extends WaitingCheck {
  commit?: Commit
}

export interface HeldCheck {
  actionType: string
  gateId: string | undefined
  /** False when the policy denies the check. */
  pending: boolean
}

/** Lets a check pass, or has it wait for the supervisor of a supervised session. */
export const passCheck =
  (check: WaitingCheck): DecideStep =>
  (_trx, { supervisorId }) => {
    const details = { action: check.actionType, gate_request: check.requestId ?? null }
    if (supervisorId === undefined)
      return { event: 'checked', set: { waiting: undefined }, details }
    return {
      event: 'waits',
      step: 'claim',
      set: { waiting: check },
      details: { ...details, waits_for: supervisorId },
    }
  }

/** Records a check that did not pass; the session stays at its claim. */
export const holdCheck =
  ({ actionType, gateId, pending }: HeldCheck): DecideStep =>
  () => ({
    event: pending ? 'waits' : 'denied',
    step: 'claim',
    set: { waiting: undefined },
    details: { action: actionType, waits_for: gateId ?? null },
    refused: !pending,
  })

/** Throws `conflict` unless exactly this check of the session waits for its supervisor. */
export const confirmCheck =
  ({ actionType, context }: Pick<WaitingCheck, 'actionType' | 'context'>): DecideStep =>
  async (trx, { id, tenantId, waiting, supervisorId = '' }, at) => {
    requireLive(await readSession(trx, supervisorId, tenantId), at)
    if (waiting === undefined)
      throw new ShoalError('conflict', `no check of session ${id} waits for you`)
    if (waiting.actionType !== actionType || waiting.context !== context)
      throw new ShoalError(
        'conflict',
        `another check waits: ${waiting.actionType}${waiting.context === undefined ? '' : ' with a context'}; read the session and confirm that check`,
      )
    return {
      event: 'checked',
      set: { waiting: undefined },
      details: { action: actionType, confirmed_by: supervisorId },
    }
  }
