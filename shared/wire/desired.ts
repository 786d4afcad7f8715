import * as z from 'zod'
import { CELL_ID } from '../ids.ts'
import { isGenuine, PublicKey, Signature, type Signer, signed } from '../signing.ts'

const MIB = 1024 * 1024

/** Bounds of the numbers and texts that a cell takes, from its own file and from afar alike. */
export const Setting = {
  intervalSeconds: z.number().min(1).max(3600),
  logLevel: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
  slots: z.int().min(1).max(256),
  threads: z.int().min(1).max(1024),
  spoolBytes: z
    .int()
    .min(MIB)
    .max(64 * 1024 * MIB),
  drainBytesPerSecond: z
    .int()
    .min(1024)
    .max(1024 * MIB),
  tags: z.array(z.string().min(1).max(64)).max(64),
}

/**
 * What of a cell's configuration may be set from the coordinator. Strict, and nothing in it can
 * cut the cell off or run anything. What is absent is as the cell's own file has it.
 */
export const Settings = z.strictObject({
  telemetry: z
    .strictObject({ interval_seconds: Setting.intervalSeconds.exactOptional() })
    .exactOptional(),
  log: z.strictObject({ level: Setting.logLevel.exactOptional() }).exactOptional(),
  inference: z
    .strictObject({
      slots: Setting.slots.exactOptional(),
      threads: Setting.threads.exactOptional(),
    })
    .exactOptional(),
  spool: z
    .strictObject({
      max_bytes: Setting.spoolBytes.exactOptional(),
      drain_bytes_per_second: Setting.drainBytesPerSecond.exactOptional(),
    })
    .exactOptional(),
})
export type Settings = z.infer<typeof Settings>

/** As for one cell alone: a tag that gave tags could give them to itself for ever. */
export const CellSettings = Settings.extend({
  tags: Setting.tags.exactOptional(),
})
export type CellSettings = z.infer<typeof CellSettings>

const DesiredFields = z.object({
  /** Of the newest change that is in the document; 0 when nothing was ever set. */
  version: z.int().nonnegative(),
  /** Checked by the cell against its own schema, key by key. */
  document: z.record(z.string().max(64), z.json()),
  /** Id of the birth that this answers; the cell measures the coordinator's clock by it. */
  answers: z.string().max(64).exactOptional(),
  /** The one cell that it is for. */
  cell_id: z.string().regex(CELL_ID).exactOptional(),
  /** Unix milliseconds by the coordinator's clock. */
  issued_at: z.int().nonnegative().exactOptional(),
  /** Public key of the coordinator that signed. */
  key_id: PublicKey.exactOptional(),
  /** Over all other fields. */
  signature: Signature.exactOptional(),
})
export type Desired = z.infer<typeof DesiredFields>
/** Body of the `desired` topic. Loose, because unknown fields are signed too. */
export const Desired = DesiredFields.loose()

const PURPOSE = 'desired'

/** What a coordinator of this version sends: all fields are there, `answers` where it is one. */
export const signDesired = (
  desired: Required<Pick<Desired, 'version' | 'document' | 'cell_id' | 'issued_at'>> &
    Pick<Desired, 'answers'>,
  signer: Signer,
): Desired => signed(PURPOSE, desired, signer)

/** True when the owner of the key signed exactly these settings for this cell. */
export const isGenuineDesired = (desired: Desired, cellId: string, publicKey: string): boolean => {
  const { signature, cell_id } = desired
  if (signature === undefined || cell_id !== cellId) return false
  return isGenuine(PURPOSE, { ...desired, signature }, publicKey)
}

export const ReportedState = z.enum(['applied', 'probation', 'refused', 'rolled_back'])
export type ReportedState = z.infer<typeof ReportedState>

/** So that what a whole fleet reports fits into the coordinator's memory. */
export const MAX_ERRORS = 16
const MAX_SETTINGS_LENGTH = 16 * 1024

/** Body of the `reported` topic. */
export const Reported = z.object({
  /** Of the newest document that came. */
  desired_version: z.int().nonnegative(),
  /** Of the one in force. */
  applied_version: z.int().nonnegative(),
  state: ReportedState,
  /** What was wrong, by key: `telemetry.interval_seconds`; an empty key means the whole. */
  errors: z
    .array(z.object({ key: z.string().max(128), message: z.string().max(300) }))
    .max(MAX_ERRORS),
  /** What is in force. */
  settings: z
    .record(z.string().max(64), z.json())
    .refine(settings => JSON.stringify(settings).length <= MAX_SETTINGS_LENGTH, {
      error: `more than ${MAX_SETTINGS_LENGTH} characters`,
    }),
})
export type Reported = z.infer<typeof Reported>

/** Laid over each other in order, key by key; lists are replaced. */
export const mergeDocuments = (...documents: object[]): Record<string, unknown> => {
  const merged = new Map<string, unknown>()
  for (const document of documents)
    for (const [key, value] of Object.entries(document)) {
      const before = merged.get(key)
      merged.set(key, isObject(value) && isObject(before) ? mergeDocuments(before, value) : value)
    }
  return Object.fromEntries(merged)
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
