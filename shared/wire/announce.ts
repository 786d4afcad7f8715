import * as z from 'zod'
import { PublicKey, Signature } from '../signing.ts'
import { AuditHead } from './audit-head.ts'
import { VerbFacts } from './command.ts'
import { DeviceFacts, DeviceProfileFacts, MAX_DEVICES, MAX_PROFILES } from './device.ts'
import { MAX_OWN_NETWORKS } from './scan-scope.ts'
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

/** Body of the `birth` topic, which describes the cell. Sent on every connect and on change. */
export const Announce = z.object({
  /** Name given by the operator; the host name by default. Not an identity. */
  name: z.string().min(1).max(253),
  version: z.string().max(64),
  protocol: z.int().positive(),
  /** Capability level of the daemon's build, see `capability.ts`; absent means the first. */
  capability: z.int().positive().exactOptional(),
  host: HostFacts,
  gpus: z.array(GpuFacts).max(256),
  engines: z.array(EngineReport).max(256),
  tags: z.array(z.string().max(64)).max(64),
  /** The coordinator's key that the cell has pinned. */
  coordinator_key: PublicKey.exactOptional(),
  /** Highest head of the coordinator's audit that the cell has received. */
  audit_head: AuditHead.exactOptional(),
  /** Verbs that the cell accepts as commands. */
  verbs: z.array(VerbFacts).max(256).exactOptional(),
  /** Profiles of its devices. */
  device_profiles: z.array(DeviceProfileFacts).max(MAX_PROFILES).exactOptional(),
  devices: z.array(DeviceFacts).max(MAX_DEVICES).exactOptional(),
  /** Subnets of its own interfaces: proposals for the scope of discovery, never part of it. */
  networks: z.array(z.string().max(64)).max(MAX_OWN_NETWORKS).exactOptional(),
})
export type Announce = z.infer<typeof Announce>

/** Enrolment request of a daemon. */
export const EnrolRequest = z.strictObject({
  token: z.string().min(1).max(256),
  name: z.string().min(1).max(253),
  /** The cell's ed25519 key. */
  public_key: PublicKey.exactOptional(),
  /** Signature over the three other fields; proves possession of the private key. */
  proof: Signature.exactOptional(),
})
export type EnrolRequest = z.infer<typeof EnrolRequest>
export const ENROL_PURPOSE = 'enrol'
export const EnrolAnswer = z.object({
  cell_id: z.string(),
  credential: z.string(),
  /** The coordinator's ed25519 key, which the cell pins: commands are signed with it. */
  signing_key: PublicKey.exactOptional(),
})
export type EnrolAnswer = z.infer<typeof EnrolAnswer>
