import * as z from 'zod'
import { iso, isoOrNull } from '../../../shared/time.ts'
import { RAMP_UP_STATES, type RampUp } from './ramp-up.ts'

export const RampUpView = z.object({
  ramp_up_id: z.string(),
  job_id: z.string(),
  state: z.enum(RAMP_UP_STATES),
  reason: z.string().nullable().describe('Why it was aborted.'),
  document: z.json().describe('Settings that the cells get.'),
  stage: z.int().describe('Stage in progress, from 1.'),
  stages: z.array(z.object({ cell_ids: z.array(z.string()) })),
  holding: z.boolean().describe('True while the cells of the stage are watched.'),
  started_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
})

export const rampUpViewOf = (rampUp: RampUp): z.input<typeof RampUpView> => ({
  ramp_up_id: rampUp.id,
  job_id: rampUp.jobId,
  state: rampUp.state,
  reason: rampUp.reason ?? null,
  document: rampUp.plan.document as z.core.util.JSONType,
  stage: rampUp.stage + 1,
  stages: rampUp.plan.stages.map(cell_ids => ({ cell_ids })),
  holding: rampUp.state === 'running' && rampUp.heldSince !== undefined,
  started_at: iso(rampUp.createdAt),
  ended_at: isoOrNull(rampUp.endedAt),
})
