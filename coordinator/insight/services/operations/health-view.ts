import * as z from 'zod'
import { SERVICE_STATES } from '../probe.ts'
import type { ServiceHealth } from '../services.ts'

const CheckView = z.object({
  name: z.string(),
  url: z.string(),
  state: z.enum(['up', 'down', 'unknown']),
  http_status: z.int().nullable(),
  latency_ms: z.number(),
  fault: z.string().nullable(),
})

export const HealthView = z.object({
  service_id: z.string(),
  state: z
    .enum(SERVICE_STATES)
    .describe('`unknown`: the service could not be reached; that alone never starts a repair.'),
  reason: z.string().nullable(),
  checks: z.array(CheckView),
})

export const healthViewOf = (health: ServiceHealth): z.input<typeof HealthView> => ({
  service_id: health.serviceId,
  state: health.state,
  reason: health.reason ?? null,
  checks: health.checks.map(({ httpStatus, latencyMs, fault, body: _, ...check }) => ({
    ...check,
    http_status: httpStatus ?? null,
    latency_ms: latencyMs,
    fault: fault ?? null,
  })),
})
