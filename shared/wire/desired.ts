import * as z from 'zod'
import { CELL_ID } from '../ids.ts'
import { isGenuine, PublicKey, Signature, type Signer, signMessage } from '../signing.ts'
import { RegisteredModels } from './registered-models.ts'
import { SharedEnvelopes } from './safety-envelope.ts'
import { DiscoverySettings } from './scan-scope.ts'

const MIB = 1024 * 1024

/** Bounds of the numbers and strings that a cell accepts, in its own file and remotely alike. */
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
 * Part of a cell's configuration that the coordinator may set. Strict; no setting can disconnect
 * the cell or run a program. Absent keys keep the value of the cell's own file.
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
  /** Limits of devices; a cell merges them with those of its own file to the most restrictive. */
  envelopes: SharedEnvelopes.exactOptional(),
  /** Scope of active probes, which a cell adds to that of its own file, and scheduled runs. */
  discovery: DiscoverySettings.exactOptional(),
})
export type Settings = z.infer<typeof Settings>

/**
 * Settings of a single cell. Tags are excluded from shared settings: a tag that grants tags could
 * grant them to itself forever.
 */
export const CellSettings = Settings.extend({
  tags: Setting.tags.exactOptional(),
})
export type CellSettings = z.infer<typeof CellSettings>

/** Everything that a cell accepts: what operators write, and the models that they added. */
export const ReceivedSettings = CellSettings.extend({
  models: RegisteredModels.exactOptional(),
})
export type ReceivedSettings = z.infer<typeof ReceivedSettings>

const DesiredFields = z.object({
  /** Version of the newest change in the document; 0 when nothing was ever set. */
  version: z.int().nonnegative(),
  /** Settings, which the cell checks against its own schema, key by key. */
  document: z.record(z.string().max(64), z.json()),
  /** Id of the birth that this answers; the cell estimates the coordinator's clock from it. */
  answers: z.string().max(64).exactOptional(),
  /** Target cell. */
  cell_id: z.string().regex(CELL_ID).exactOptional(),
  /** Unix milliseconds by the coordinator's clock. */
  issued_at: z.int().nonnegative().exactOptional(),
  /** Public key of the coordinator that signed. */
  key_id: PublicKey.exactOptional(),
  /** Signature over all other fields. */
  signature: Signature.exactOptional(),
})
export type DesiredBody = z.infer<typeof DesiredFields>
/** Body of the `desired` topic. Loose, because unknown fields are signed too. */
export const DesiredBody = DesiredFields.loose()

const PURPOSE = 'desired'

/**
 * Signs a document with every field that this version sends; `answers` only in reply to a birth.
 */
export const signDesired = (
  desired: Required<Pick<DesiredBody, 'version' | 'document' | 'cell_id' | 'issued_at'>> &
    Pick<DesiredBody, 'answers'>,
  signer: Signer,
): DesiredBody => signMessage(PURPOSE, desired, signer)

/** True when the owner of the key signed exactly these settings for this cell. */
export const isGenuineDesired = (
  desired: DesiredBody,
  cellId: string,
  publicKey: string,
): boolean => {
  const { signature, cell_id } = desired
  if (signature === undefined || cell_id !== cellId) return false
  return isGenuine(PURPOSE, { ...desired, signature }, publicKey)
}

export const ReportedState = z.enum(['applied', 'probation', 'refused', 'rolled_back'])
export type ReportedState = z.infer<typeof ReportedState>

/**
 * Most errors per report, so that the reports of a whole fleet fit into the coordinator's memory.
 */
export const MAX_ERRORS = 16
const MAX_SETTINGS_LENGTH = 16 * 1024

/** Body of the `reported` topic. */
export const ReportedBody = z.object({
  /** Version of the newest document received. */
  desired_version: z.int().nonnegative(),
  /** Version of the document in force. */
  applied_version: z.int().nonnegative(),
  state: ReportedState,
  /** Errors by key: `telemetry.interval_seconds`; an empty key means the whole document. */
  errors: z
    .array(z.object({ key: z.string().max(128), message: z.string().max(300) }))
    .max(MAX_ERRORS),
  /** Settings in force. */
  settings: z
    .record(z.string().max(64), z.json())
    .refine(settings => JSON.stringify(settings).length <= MAX_SETTINGS_LENGTH, {
      error: `more than ${MAX_SETTINGS_LENGTH} characters`,
    }),
})
export type ReportedBody = z.infer<typeof ReportedBody>

/** Merges settings in order, key by key; lists are replaced. */
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
