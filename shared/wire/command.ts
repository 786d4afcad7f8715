import * as z from 'zod'
import { CELL_ID, COMMAND_ID, DEVICE_ID } from '../ids.ts'
import { isGenuine, PublicKey, Signature, type Signer, signMessage } from '../signing.ts'
import { ApprovedPlan } from './approved-plan.ts'
import { Asked, Seen } from './device-outcome.ts'

/** Effect of a verb on the world; `safe` can only reduce risk, unknown counts as unsafe. */
export const Hazard = z.enum(['read', 'safe', 'caution', 'unsafe'])
export type Hazard = z.infer<typeof Hazard>

/** Name of a verb such as `engine-restart`. */
export const VerbName = z.string().regex(/^[a-z][a-z0-9-]{0,63}$/)

/** A verb as its cell announces it. */
export const VerbFacts = z.object({
  verb: VerbName,
  description: z.string().max(256),
  /** Highest hazard over all parameters; a dry run returns the one for its parameters. */
  hazard: Hazard,
  /** Longest duration, in seconds. */
  timeout_seconds: z.number().positive().max(3600),
  /**
   * True for verbs that stop a device (stop, hold, land): they skip every queue and cancel the
   * running command.
   */
  urgent: z.boolean().exactOptional(),
})
export type VerbFacts = z.infer<typeof VerbFacts>

/** Most commands of one device, or of the cell itself, that may wait behind the running one. */
export const MAX_WAITING_PER_LANE = 100

/** Largest result of a command, in bytes of its canonical JSON. */
export const MAX_RESULT_BYTES = 256 * 1024

/** Largest result for a coordinator that does not state its limit, in bytes. */
export const PLAIN_RESULT_BYTES = 32 * 1024

/**
 * Longest life of a command, in seconds; shorter than the 24 h for which a cell remembers its id.
 */
export const MAX_TTL_SECONDS = 3600

/**
 * Body of the `cmd` topic. Strict: a cell must understand every field of what it executes. Times
 * are unix milliseconds by the coordinator's clock.
 */
export const Command = z.strictObject({
  id: z.string().regex(COMMAND_ID),
  /** The only cell that may execute it. */
  cell_id: z.string().regex(CELL_ID),
  /** Target device of the cell; absent for the cell itself. */
  device_id: z.string().regex(DEVICE_ID).exactOptional(),
  verb: VerbName,
  params: z.record(z.string().max(128), z.json()),
  /**
   * Hazard of the command; must not be below the cell's own assessment of the verb with these
   * parameters.
   */
  hazard: Hazard,
  /** `dry` plans and checks everything, returns the plan, and does nothing. */
  mode: z.enum(['live', 'dry']),
  issued_at: z.int().nonnegative(),
  not_before: z.int().nonnegative(),
  expires_at: z.int().nonnegative(),
  /**
   * Fencing number that grows with every command for the cell. The cell refuses a command whose
   * number is not above that of the last one for the same device.
   */
  fence: z.int().positive(),
  /** Approved plan; a cell executes nothing unsafe without it. */
  approval: ApprovedPlan.exactOptional(),
  /** Largest result that the coordinator accepts, in bytes. */
  max_result_bytes: z.int().positive().exactOptional(),
  /** Public key of the coordinator that signed. */
  key_id: PublicKey,
  /** Signature over all other fields. */
  signature: Signature,
})
export type Command = z.infer<typeof Command>

/** State of a command, as its cell reports it. */
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

/** Progress of a running command. */
export const CommandProgress = z.object({
  percent: z.number().min(0).max(100).nullable(),
  message: z.string().max(200).nullable(),
})
export type CommandProgress = z.infer<typeof CommandProgress>

const AckFields = z.object({
  command_id: z.string().regex(COMMAND_ID),
  cell_id: z.string().regex(CELL_ID),
  state: AckState,
  /** Unix milliseconds by the cell's clock. */
  at: z.int().nonnegative(),
  /** Machine-readable reason: `stale_fence`, `clock_untrusted` … */
  reason: z.string().max(64).exactOptional(),
  /** Reason in plain words. */
  message: z.string().max(500).exactOptional(),
  result: z.json().exactOptional(),
  /**
   * Progress of the command, sent only with `executing` and at most once a second; lost while
   * disconnected.
   */
  progress: CommandProgress.exactOptional(),
  /** Operations sent to the device and acknowledged; absent for a command without a device. */
  asked: Asked.exactOptional(),
  /** State of the device observed afterwards. */
  seen: Seen.exactOptional(),
  key_id: PublicKey,
  signature: Signature,
})
export type Ack = z.infer<typeof AckFields>
/** Body of the `ack` topic. Loose, because unknown fields are signed too. */
export const Ack = AckFields.loose()

type Unsigned<T> = Omit<T, 'key_id' | 'signature'>

export const signCommand = (command: Unsigned<Command>, signer: Signer): Command =>
  signMessage('command', command, signer)

/**
 * True for commands that can only reduce risk or do nothing: they may be repeated after a crash.
 */
export const isHarmless = ({ hazard, mode }: Pick<Command, 'hazard' | 'mode'>): boolean =>
  hazard === 'read' || hazard === 'safe' || mode === 'dry'

/** True when the owner of the key signed exactly this command. */
export const isGenuineCommand = (command: Command, publicKey: string): boolean =>
  isGenuine('command', command, publicKey)

export const signAck = (ack: Unsigned<Ack>, signer: Signer): Ack => signMessage('ack', ack, signer)

/** True when the owner of the key signed exactly this ack. */
export const isGenuineAck = (ack: Ack, publicKey: string): boolean =>
  isGenuine('ack', ack, publicKey)

/** Final states: the command never changes again. */
export const FINAL_STATES: readonly string[] = [
  'succeeded',
  'failed',
  'expired',
  'rejected',
  'unknown',
]
