import * as z from 'zod'
import { CELL_ID, COMMAND_ID } from '../ids.ts'
import { isGenuine, PublicKey, Signature, type Signer, signed } from '../signing.ts'

/** What a verb may do to the world; `safe` can only reduce risk, unknown counts as unsafe. */
export const Hazard = z.enum(['read', 'safe', 'caution', 'unsafe'])
export type Hazard = z.infer<typeof Hazard>

/** A name such as `engine-restart`. */
export const VerbName = z.string().regex(/^[a-z][a-z0-9-]{0,63}$/)

/** What a cell can be commanded to do, as it announces it. */
export const VerbFacts = z.object({
  verb: VerbName,
  description: z.string().max(256),
  hazard: Hazard,
  /** Longest time it may take. */
  timeout_seconds: z.number().positive().max(3600),
})
export type VerbFacts = z.infer<typeof VerbFacts>

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
  verb: VerbName,
  params: z.record(z.string().max(128), z.json()),
  /** Must be what the cell itself says of the verb. */
  hazard: Hazard,
  /** `dry` checks everything and does nothing. */
  mode: z.enum(['live', 'dry']),
  issued_at: z.int().nonnegative(),
  not_before: z.int().nonnegative(),
  expires_at: z.int().nonnegative(),
  /** Grows with every command for the cell, which obeys none that is not above the last. */
  fence: z.int().positive(),
  /** SHA-256 of the approved plan, hexadecimal. */
  plan_hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .exactOptional(),
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
  key_id: PublicKey,
  signature: Signature,
})
export type Ack = z.infer<typeof AckFields>
/** Body of the `ack` topic. Loose, because unknown fields are signed too. */
export const Ack = AckFields.loose()

type Unsigned<T> = Omit<T, 'key_id' | 'signature'>

export const signCommand = (command: Unsigned<Command>, signer: Signer): Command =>
  signed('command', command, signer)

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
