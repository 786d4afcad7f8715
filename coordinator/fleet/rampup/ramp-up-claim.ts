import type { Transaction } from 'kysely'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { takeFenced, updateFenced } from '../../kernel/leases/fenced-rows.ts'
import type { Job } from '../../kernel/queue/job.ts'
import { JobError } from '../../kernel/queue/job-error.ts'
import { countMatchingRows } from '../../kernel/store/count.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { rampUpTable } from './ramp-up.table.ts'
import type { RampUp, RampUpState } from './ramp-up.ts'

const LOOK_SECONDS = 1

/** Ends this attempt until the next check, without counting it. */
export const createRetry = (reason: string): JobError =>
  new JobError(reason, { early: true, retryAfterSeconds: LOOK_SECONDS })

const createLostError = (): JobError => createRetry('another worker has the ramp-up')

/** Takes the ramp-up for this claim of its job; an earlier claim can change nothing any more. */
export const takeRampUp = ({ free }: Ledger, id: string, job: Job): Promise<RampUp> =>
  free.write(async trx => {
    const row = await takeFenced(trx, 'ramp_ups', { id, fence: job.fence })
    if (row === undefined) throw createLostError()
    return rampUpTable.read(row)
  })

/** True while a ramp-up has not ended. */
export const isOpenRampUp = async (trx: Transaction<LedgerTables>, id: string): Promise<boolean> =>
  (await countMatchingRows(
    trx.selectFrom('ramp_ups').where('id', '=', id).where('ended_at', 'is', null),
  )) > 0

/**
 * Changes the row of a running ramp-up. Throws JobError once a later claim has it, and for the end of
 * one that an operator has just aborted.
 */
const changeHeld = async (
  trx: Transaction<LedgerTables>,
  { id }: Pick<RampUp, 'id'>,
  { fence }: Job,
  change: Partial<RampUp>,
): Promise<void> => {
  let query = updateFenced(trx, 'ramp_ups', { id, fence })
    .set(rampUpTable.writeSome(change))
    .where('ended_at', 'is', null)
  if (change.state === 'done') query = query.where('aborted', '=', 0)
  const { numUpdatedRows } = await query.executeTakeFirst()
  if (numUpdatedRows === 0n) throw createLostError()
}

/**
 * Throws JobError in the transaction of a worker that a later claim has replaced. An update and not
 * a select, because it also locks the row against that claim.
 */
export const requireHeld = (
  trx: Transaction<LedgerTables>,
  rampUp: Pick<RampUp, 'id'>,
  job: Job,
): Promise<void> => changeHeld(trx, rampUp, job, { fence: job.fence })

export const updateRampUp = (
  { free }: Ledger,
  rampUp: Pick<RampUp, 'id'>,
  job: Job,
  change: Partial<RampUp>,
  now: number,
): Promise<void> => free.write(trx => changeHeld(trx, rampUp, job, { ...change, changedAt: now }))

/** Ends a ramp-up, audited. */
export const endRampUp = (
  { ledger, now }: { ledger: Ledger; now: () => number },
  rampUp: RampUp,
  job: Job,
  { state, reason }: { state: RampUpState; reason?: string },
): Promise<void> =>
  ledger.sealed.write(async trx => {
    const at = now()
    await changeHeld(trx, rampUp, job, { state, reason, endedAt: at, changedAt: at })
    await appendAudit(trx, {
      ...actorOf(rampUp),
      at,
      tenant: rampUp.tenantId,
      action: 'rampup.end',
      subject: rampUp.id,
      outcome: 'done',
      details: { state, reason: reason ?? null },
    })
  })

export const actorOf = ({ keyId, requestId }: RampUp): Actor => ({
  actor: `key:${keyId}`,
  requestId,
})

/** Deletes some of the ramp-ups that ended before a time; returns true while there may be others. */
export const forgetRampUps = (
  { free }: Pick<Ledger, 'free'>,
  before: number,
  atMost: number,
): Promise<boolean> =>
  free.write(async trx => {
    const old = trx.selectFrom('ramp_ups').select('id').where('ended_at', '<', before).limit(atMost)
    const { numDeletedRows } = await trx
      .deleteFrom('ramp_ups')
      .where('id', 'in', old)
      .executeTakeFirst()
    return numDeletedRows === BigInt(atMost)
  })
