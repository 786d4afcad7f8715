import * as z from 'zod'
import { EngineReport } from './telemetry.ts'

export const HostFacts = z.object({
  hostname: z.string().max(253),
  os: z.string().max(128),
  kernel: z.string().max(128),
  arch: z.string().max(32),
  cpu_model: z.string().max(256),
  cpu_count: z.int().min(0).max(65_536),
  memory_total_bytes: z.number().nonnegative(),
})
export type HostFacts = z.infer<typeof HostFacts>

export const GpuFacts = z.object({
  index: z.int().min(0).max(1023),
  id: z.string().max(128),
  name: z.string().max(256),
  vendor: z.enum(['nvidia', 'amd', 'jetson', 'other']),
  driver: z.string().max(128).nullable(),
  vram_total_bytes: z.number().nonnegative().nullable(),
  unified_memory: z.boolean(),
})
export type GpuFacts = z.infer<typeof GpuFacts>

/** Body of the `birth` topic: what the cell is. Sent on every connect and when it changes. */
export const Announce = z.object({
  /** Name the operator gave; the host name by default. Not an identity. */
  name: z.string().min(1).max(253),
  version: z.string().max(64),
  protocol: z.int().positive(),
  host: HostFacts,
  gpus: z.array(GpuFacts).max(256),
  engines: z.array(EngineReport).max(256),
  tags: z.array(z.string().max(64)).max(64),
})
export type Announce = z.infer<typeof Announce>

/** What a daemon sends to be enrolled, and what it gets back once. */
export const EnrolRequest = z.strictObject({
  token: z.string().min(1).max(256),
  name: z.string().min(1).max(253),
})
export type EnrolRequest = z.infer<typeof EnrolRequest>
export const EnrolAnswer = z.object({ cell_id: z.string(), credential: z.string() })
export type EnrolAnswer = z.infer<typeof EnrolAnswer>
