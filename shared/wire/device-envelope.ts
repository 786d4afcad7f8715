import * as z from 'zod'
import { DEVICE_ID } from '../ids.ts'
import { VerbName } from './command.ts'
import { EnvelopeSource, SafetyEnvelope } from './safety-envelope.ts'

/** Question for the limits of a device with their sources. */
export const DEVICE_ENVELOPE = 'device-envelope'
export const DEVICE_ENVELOPE_SECONDS = 5

export const DeviceEnvelopeInput = z.strictObject({ device_id: z.string().regex(DEVICE_ID) })

/** A limit in force, and the source that sets it. */
export const EnvelopeBound = z.object({
  limit: SafetyEnvelope.keyof(),
  value: z.json(),
  source: EnvelopeSource,
  /** The only command that it limits; null for one that limits all of them. */
  command: VerbName.nullable(),
})
export type EnvelopeBound = z.infer<typeof EnvelopeBound>

export const DeviceEnvelopeAnswer = z.object({ bounds: z.array(EnvelopeBound).max(2000) })
