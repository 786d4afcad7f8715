import * as z from 'zod'
import { HALF_JITTER } from '../../../shared/back-off.ts'
import { defineJobKind, type JobKind } from '../../kernel/queue/job-kind.ts'
import { continueRampUp } from './continue-ramp-up.ts'
import type { FaultParts } from './find-fault.ts'
import { isOpenRampUp } from './ramp-up-claim.ts'
import { RAMP_UP } from './ramp-ups.ts'

export const KEPT_DAYS = 90

/** One ramp-up, from its start to its end. */
export const createRampUpKind = (parts: FaultParts): JobKind =>
  defineJobKind({
    kind: RAMP_UP,
    payload: z.object({ id: z.string() }),
    account: () => ({ project: 'rampup' }),
    // an attempt ends only when its process does
    maxAttempts: 10_000,
    backOff: { firstMs: 1000, maxMs: 60_000, jitter: HALF_JITTER },
    concurrency: 1,
    timeoutSeconds: 600,
    leaseSeconds: 10,
    keptDays: KEPT_DAYS,
    run: ({ id }, { job }) => continueRampUp(parts, id, job),
    findEndCommand: async ({ id }, trx) =>
      (await isOpenRampUp(trx, id)) ? 'shoal skills run rampup-control --action abort' : undefined,
  })
