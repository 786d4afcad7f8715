import { isIP } from 'node:net'
import * as z from 'zod'

/** Name of the question to a cell for the status of a printer. */
export const PRINTER_STATUS = 'printer-status'

/** Longest time for the answer, in seconds: a connection, a request and a full status. */
export const PRINTER_STATUS_SECONDS = 20

export const PrinterStatusInput = z.strictObject({
  ip: z
    .string()
    .max(45)
    .refine(text => isIP(text) !== 0, 'must be an IPv4 or IPv6 address')
    .describe('Address of the printer, which must be in the scope of the cell.'),
  serial: z
    .string()
    .regex(/^[A-Za-z0-9]{8,32}$/)
    .describe('Serial number of the printer.'),
  access_code: z
    .string()
    .regex(/^[\x21-\x7e]{6,64}$/)
    .meta({ secret: true })
    .describe('Access code that the screen of the printer shows. It is never stored.'),
})
export type PrinterStatusInput = z.infer<typeof PrinterStatusInput>

const Num = z.number().nullable()

/** Status of a printer as its cell sees it; null for what the printer does not report. */
export const PrinterStatusAnswer = z.object({
  serial: z.string().max(32),
  /** False when no status could be read; `reason` says why, and the other fields are null. */
  available: z.boolean(),
  /** True when the printer accepts commands, as far as it reports; null when nothing was read. */
  writable: z.boolean().nullable(),
  reason: z.string().max(500).nullable(),
  /** SHA-256 of the printer's certificate, hexadecimal. */
  certificate_fingerprint: z.string().max(64).nullable(),
  /** True when that certificate was pinned for this serial number before; else this call pins it. */
  certificate_pinned: z.boolean(),
  observed_at: z.iso.datetime().nullable().describe("Time of the status, by the cell's clock."),
  state: z.string().max(64).nullable(),
  job: z.string().max(256).nullable(),
  progress_percent: Num,
  remaining_minutes: Num,
  layer: Num,
  layers: Num,
  nozzle_celsius: Num,
  nozzle_target_celsius: Num,
  bed_celsius: Num,
  bed_target_celsius: Num,
  chamber_celsius: Num,
  error_code: Num,
  warnings: Num,
  light_on: z.boolean().nullable(),
})
export type PrinterStatusAnswer = z.infer<typeof PrinterStatusAnswer>
