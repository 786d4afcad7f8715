import * as z from 'zod'
import { SafetyEnvelope } from '../../../shared/wire/safety-envelope.ts'
import { FINGERPRINT, normalizeFingerprint } from '../../net/dial.ts'

/** Serial number as it stands on the printer. */
const PrinterSerial = z.string().regex(/^[A-Za-z0-9]{8,32}$/)

export const BAMBU_PORT = 8883

/** A Bambu Lab printer in the local network. */
export const BambuLinkConfig = z.strictObject({
  kind: z.literal('bambu'),
  name: z.string().min(1).max(128),
  serial: PrinterSerial,
  host: z.string().min(1).max(253).describe('Address or name of the printer.'),
  port: z.int().min(1).max(65_535).default(BAMBU_PORT),
  access_code_file: z
    .string()
    .min(1)
    .max(4096)
    .describe('File that holds the access code, which the screen of the printer shows.'),
  fingerprint: z
    .string()
    .max(128)
    .transform(normalizeFingerprint)
    .pipe(z.string().regex(FINGERPRINT))
    .exactOptional()
    .describe('SHA-256 of its certificate; the one of the first connection when absent.'),
  site: z.string().max(64).exactOptional(),
  envelope: SafetyEnvelope.exactOptional(),
})
export type BambuLinkConfig = z.infer<typeof BambuLinkConfig>
