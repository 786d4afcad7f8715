import * as z from 'zod'
import { CELL_ID, DEVICE_ID } from '../ids.ts'
import {
  isGenuine,
  isSignedByLater,
  PublicKey,
  Signature,
  type Signer,
  signMessage,
} from '../signing.ts'
import { EstopBehaviour } from './device.ts'
import { Asked, Seen } from './device-outcome.ts'
import { Time } from './time.ts'

export const ESTOP_ID = /^est_[0-9a-hjkmnp-tv-z]{26}$/

export const EstopScope = z.enum(['all', 'site', 'cell', 'device'])
export type EstopScope = z.infer<typeof EstopScope>

const Reason = z.string().min(1).max(300)

/** Reason of a stop or a release for which nobody gave one. */
export const NO_REASON = 'no reason given'

/** Place of a device in the fleet, for the question whether a stop covers it. */
export interface DeviceSeat {
  cellId: string
  deviceId: string
  /** Null for a device without a site, which no stop of a site covers. */
  site: string | null
}

/** An engaged e-stop. Times are unix milliseconds by the clock of the one who engaged it. */
export const EngagedStop = z.object({
  estop_id: z.string().regex(ESTOP_ID),
  scope: EstopScope,
  /** Site, cell id or device id; null for `all`. */
  target: z.string().max(128).nullable(),
  engaged_at: Time,
  engaged_by: z.string().max(128),
  reason: Reason,
})
export type EngagedStop = z.infer<typeof EngagedStop>

/** True when a stop holds this device. */
export const coversDevice = (
  { scope, target }: { scope: EstopScope; target?: string | null | undefined },
  { cellId, deviceId, site }: DeviceSeat,
): boolean => {
  if (scope === 'all') return true
  if (scope === 'site') return site !== null && target === site
  return target === (scope === 'cell' ? cellId : deviceId)
}

/** A released e-stop; a release is for one stop, so that it never ends a newer one. */
export const ReleasedStop = z.object({
  estop_id: z.string().regex(ESTOP_ID),
  released_at: Time,
  released_by: z.string().max(128),
  reason: Reason,
})
export type ReleasedStop = z.infer<typeof ReleasedStop>

/** Most stops of one document. */
export const MAX_STOPS = 256

const EstopFields = z.object({
  /** Number of the newest change; a cell ignores an older document. */
  version: z.int().nonnegative(),
  /**
   * Target cell; absent in a document for several cells. One that was made for other cells is
   * harmless: each stop has its scope, a release names its stop, and missing stops stay latched.
   */
  cell_id: z.string().regex(CELL_ID).exactOptional(),
  /** Stops that are engaged, as far as they concern the cells. */
  engaged: z.array(EngagedStop).max(MAX_STOPS),
  /** Stops that people have released. A stop in neither list stays latched on the cell. */
  released: z.array(ReleasedStop).max(MAX_STOPS),
  issued_at: z.int().nonnegative(),
  key_id: PublicKey,
  signature: Signature,
})
/** Body of the `estop` topic. Loose, because unknown fields are signed too. */
export const EstopBody = EstopFields.loose()
export type EstopBody = z.infer<typeof EstopFields>

const PURPOSE = 'estop'

export const signEstop = (
  body: Omit<EstopBody, 'key_id' | 'signature'>,
  signer: Signer,
): EstopBody => signMessage(PURPOSE, body, signer)

/** True when the owner of the key signed exactly this document. */
export const isGenuineEstop = (body: EstopBody, publicKey: string): boolean =>
  isGenuine(PURPOSE, body, publicKey)

/** A stop that is latched on a cell: on its disk, with its devices stopped as far as reachable. */
export const LatchedStop = EngagedStop.extend({
  /** True for one engaged on the machine itself, which the coordinator learns from here. */
  is_local: z.boolean(),
  /** Devices that did not confirm the stop in time, with the reason. */
  failed: z
    .array(z.object({ device_id: z.string().regex(DEVICE_ID), reason: z.string().max(300) }))
    .max(MAX_STOPS),
})
export type LatchedStop = z.infer<typeof LatchedStop>

/** Device that an e-stop of its cell holds, with what was asked of it and observed. */
export const EstoppedDevice = z.looseObject({
  /** Id of any form, so that no id keeps the report of a cell from being read. */
  device_id: z.string().max(64),
  behaviour: EstopBehaviour,
  asked: Asked,
  seen: Seen,
  /** Reason why it is not known to be at rest; absent when it is. */
  reason: z.string().max(300).exactOptional(),
})
export type EstoppedDevice = z.infer<typeof EstoppedDevice>

/** Most devices of a report with what was asked and observed. */
export const MAX_ESTOPPED_DEVICES = 64

const EstoppedFields = z.object({
  /** Version of the newest document that was applied; 0 before the first. */
  version: z.int().nonnegative(),
  cell_id: z.string().regex(CELL_ID),
  latched: z.array(LatchedStop).max(MAX_STOPS),
  /** Stops released on the machine itself, until a document of the coordinator names them too. */
  released: z.array(ReleasedStop).max(MAX_STOPS).exactOptional(),
  /** Devices that the stops hold; those that are not at rest come first. */
  devices: z.array(EstoppedDevice).max(MAX_ESTOPPED_DEVICES).exactOptional(),
  at: z.int().nonnegative(),
  key_id: PublicKey,
  signature: Signature,
})
/** Body of the `estopped` topic: what is latched on the cell, sent after every change. */
export const EstoppedBody = EstoppedFields.loose()
export type EstoppedBody = z.infer<typeof EstoppedFields>

const LATCHED = 'estopped'

export const signEstopped = (
  body: Omit<EstoppedBody, 'key_id' | 'signature'>,
  signer: Signer,
): EstoppedBody => signMessage(LATCHED, body, signer)

/** Checks on another thread: a whole fleet reports at once. Never rejects. */
export const isGenuineEstopped = (body: EstoppedBody, publicKey: string): Promise<boolean> => {
  const { signature, ...signed } = body
  return isSignedByLater(publicKey, LATCHED, signed, signature)
}
