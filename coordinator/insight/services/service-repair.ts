import * as z from 'zod'
import { deliveryLimits } from '../../kernel/outbound/delivery-limits.ts'
import { asJobFailure } from '../../kernel/outbound/job-failure.ts'
import type { Sender } from '../../kernel/outbound/sender.ts'
import { JobError } from '../../kernel/queue/job-error.ts'
import { defineJobKind, type JobKind } from '../../kernel/queue/job-kind.ts'
import { SERVICE_IDS, type Services } from './services.ts'

export const SERVICE_REPAIR = 'service-repair'

/** The repair that people have approved. */
export const RepairPlan = z.object({
  service_id: z.enum(SERVICE_IDS),
  incident_id: z.string(),
  severity: z.string().nullable(),
  failure: z.string().nullable(),
  server: z.string().nullable(),
})
export type RepairPlan = z.output<typeof RepairPlan>

/**
 * Carries out an approved repair by the address that the operator configured for it. The header
 * `Idempotency-Key` is the id of the job, so that the target can recognize a repeated attempt.
 */
export const createRepairKind = ({
  services,
  sender,
}: {
  services: Pick<Services, 'repairUrl'>
  sender: Pick<Sender, 'send'>
}): JobKind =>
  defineJobKind({
    kind: SERVICE_REPAIR,
    payload: RepairPlan,
    account: () => ({ project: 'services' }),
    ...deliveryLimits({ max_attempts: 4, retry_first_seconds: 2 }),
    run: async (plan, { job, signal }) => {
      const url = services.repairUrl(plan.service_id)
      if (url === undefined)
        throw new JobError(`services.${plan.service_id}.repair_url is no longer configured`, {
          final: true,
        })
      const headers = { 'content-type': 'application/json', 'idempotency-key': job.id }
      const message = { url, headers, body: JSON.stringify(plan) }
      const { status } = await sender.send(message, signal).catch(error => {
        throw asJobFailure(error)
      })
      if (status < 200 || status > 299) throw new JobError(`the target answered ${status}`)
    },
  })
