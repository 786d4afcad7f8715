import * as z from 'zod'
import { CELL_ID, COMMAND_ID, DEVICE_ID } from '../ids.ts'
import { isGenuine, PublicKey, Signature, type Signer, signed } from '../signing.ts'
import { ApprovedPlan } from './approved-plan.ts'

/** What a verb may do to the world; `safe` can only reduce risk, unknown counts as unsafe. */
export const Hazard = z.enum(['read', 'safe', 'caution', 'unsafe'])
export type Hazard = z.infer<typeof Hazard>

/** A name such as `engine-restart`. */
export const VerbName = z.string().regex(/^[a-z][a-z0-9-]{0,63}$/)

/** What a cell can be commanded to do, as it announces it. */
export const VerbFacts = z.object({
  verb: VerbName,
  description: z.string().max(256),
  /** The highest that any parameters have; a dry run tells the one of its parameters. */
  hazard: Hazard,
  /** Longest time it may take. */
  timeout_seconds: z.number().positive().max(3600),
  /** Stops what its device does: passes every queue and ends what runs there (stop, hold, land). */
  urgent: z.boolean().exactOptional(),
})
export type VerbFacts = z.infer<typeof VerbFacts>

/** Commands of one device, or of the cell itself, that may wait for the one that runs. */
export const MAX_WAITING_PER_LANE = 100

/** Largest result of a command, bytes of its canonical JSON. */
export const MAX_RESULT_BYTES = 256 * 1024

/** Largest result for a coordinator that does not say how large it may be. */
export const PLAIN_RESULT_BYTES = 32 * 1024

/** Longest life of a command, seconds; shorter than the 24 h for which a cell knows its id. */
export const MAX_TTL_SECONDS = 3600

/**
 * Body of the `cmd` topic. Strict: a cell must understand every word of what it is to do. Times
 * are unix milliseconds by the coordinator's clock.
 */
export const Command = z.strictObject({
  id: z.string().regex(COMMAND_ID),
  /** The one cell that may obey. */
  cell_id: z.string().regex(CELL_ID),
  /** The device of the cell that it is for; absent for the cell itself. */
  device_id: z.string().regex(DEVICE_ID).exactOptional(),
  verb: VerbName,
  params: z.record(z.string().max(128), z.json()),
  /** Not milder than what the cell itself says of the verb with these parameters. */
  hazard: Hazard,
  /** `dry` plans and checks everything, answers the plan, and does nothing. */
  mode: z.enum(['live', 'dry']),
  issued_at: z.int().nonnegative(),
  not_before: z.int().nonnegative(),
  expires_at: z.int().nonnegative(),
  /**
   * Grows with every command for the cell, which obeys none for a device that is not above the last
   * one for the same device.
   */
  fence: z.int().positive(),
  /** What people approved; without it a cell does nothing that is unsafe. */
  approval: ApprovedPlan.exactOptional(),
  /** Largest result that the coordinator takes. */
  max_result_bytes: z.int().positive().exactOptional(),
  /** Public key of the coordinator that signed. */
  key_id: PublicKey,
  /** Over all other fields. */
  signature: Signature,
})
export type Command = z.infer<typeof Command>

/** What a cell says of a command. */
export const AckState = z.enum([
  'accepted',
  'executing',
  'succeeded',
  'failed',
  'expired',
  'rejected',
  'unknown',
])
export type AckState = z.infer<typeof AckState>

/** How far a command has come. */
export const Progress = z.object({
  percent: z.number().min(0).max(100).nullable(),
  message: z.string().max(200).nullable(),
})
export type Progress = z.infer<typeof Progress>

const AckFields = z.object({
  command_id: z.string().regex(COMMAND_ID),
  cell_id: z.string().regex(CELL_ID),
  state: AckState,
  /** Unix milliseconds by the cell's clock. */
  at: z.int().nonnegative(),
  /** Why, as a word: `stale_fence`, `clock_untrusted` … */
  reason: z.string().max(64).exactOptional(),
  /** Why, in plain words. */
  message: z.string().max(500).exactOptional(),
  result: z.json().exactOptional(),
  /** Only with `executing`, at most once a second; it is lost when there is no connection. */
  progress: Progress.exactOptional(),
  key_id: PublicKey,
  signature: Signature,
})
export type Ack = z.infer<typeof AckFields>
/** Body of the `ack` topic. Loose, because unknown fields are signed too. */
export const Ack = AckFields.loose()

type Unsigned<T> = Omit<T, 'key_id' | 'signature'>

export const signCommand = (command: Unsigned<Command>, signer: Signer): Command =>
  signed('command', command, signer)

/** What can only reduce risk, or does nothing: it may be done again after a crash. */
export const isHarmless = ({ hazard, mode }: Pick<Command, 'hazard' | 'mode'>): boolean =>
  hazard === 'read' || hazard === 'safe' || mode === 'dry'

/** True when the owner of the key signed exactly this command. */
export const isGenuineCommand = (command: Command, publicKey: string): boolean =>
  isGenuine('command', command, publicKey)

export const signAck = (ack: Unsigned<Ack>, signer: Signer): Ack => signed('ack', ack, signer)

/** True when the owner of the key signed exactly this ack. */
export const isGenuineAck = (ack: Ack, publicKey: string): boolean =>
  isGenuine('ack', ack, publicKey)

/** States after which a command never changes again. */
export const FINAL_STATES: readonly string[] = [
  'succeeded',
  'failed',
  'expired',
  'rejected',
  'unknown',
]
