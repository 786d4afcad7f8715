import * as z from 'zod'
import { canonicalHash } from '../canonical-hash.ts'
import { canonicalJson } from '../canonical-json.ts'
import { CELL_ID, DEVICE_ID } from '../ids.ts'
import type { ApprovedPlan } from './approved-plan.ts'
import { Hazard, VerbName } from './command.ts'

/** Gate of an unsafe verb that names no other. */
export const LIVE_GATE = 'gate.device-command-live'

/** Gate of verbs that two persons must approve. */
export const CRITICAL_GATE = 'gate.device-command-critical'

/** Gate of a formation over several devices. */
export const FORMATION_GATE = 'gate.swarm-formation-live'

/** Largest part, in bytes of its canonical JSON; a plan for people has room for it and its hash. */
export const MAX_PART_BYTES = 48 * 1024

/**
 * Actions of one cell for a command: operations as sent over the wire, and their bounds. Changing
 * readings are not part of it: they are preconditions, which the cell checks again.
 */
export const PlanPart = z.strictObject({
  cell_id: z.string().regex(CELL_ID),
  device_id: z.string().regex(DEVICE_ID).exactOptional(),
  verb: VerbName,
  hazard: Hazard,
  /** Gate that must approve it; absent when no approval is needed. */
  gate: z.string().max(128).exactOptional(),
  operations: z.array(z.json()).max(1000),
  bounds: z.record(z.string().max(64), z.json()),
})
export type PlanPart = z.infer<typeof PlanPart>

/** Condition that must hold when a plan is executed. */
export const Precondition = z.object({
  name: z.string().max(64),
  /** Newest reading; null when there is none. */
  observed: z.json(),
  limit: z.json(),
  holds: z.boolean(),
  /** Why it holds although the reading is unknown or stale: the verb is not unsafe. */
  warning: z.string().max(200).exactOptional(),
  /** Source of the limit, see `EnvelopeSource`. */
  source: z.string().max(32).exactOptional(),
})
export type Precondition = z.infer<typeof Precondition>

/** Result of a dry run. */
export const DryRun = z.object({
  part: PlanPart,
  part_hash: z.string(),
  checks: z.array(Precondition).max(64),
})
export type DryRun = z.infer<typeof DryRun>

/** SHA-256 of a part, hexadecimal. Throws TypeError for values without canonical JSON. */
export const hashPart = (part: PlanPart): string => canonicalHash(part)

/** True for a part that fits into a plan for people. */
export const isPartSmall = (part: PlanPart): boolean =>
  Buffer.byteLength(canonicalJson(part)) <= MAX_PART_BYTES

/**
 * Plan of a single part as people approve it: readable, and with the list that the cell verifies.
 */
export const planOf = (part: PlanPart): ApprovedPlan['plan'] => ({
  ...part,
  parts: [{ cell_id: part.cell_id, part_hash: hashPart(part) }],
})
