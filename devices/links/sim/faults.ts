import { hash } from 'node:crypto'
import * as z from 'zod'

/** Failures of a simulated device. */
export const SimFaults = z.strictObject({
  reply_delay_ms: z
    .int()
    .min(0)
    .max(600_000)
    .default(0)
    .describe('Simulated time until a command begins.'),
  lost_percent: z
    .number()
    .min(0)
    .max(100)
    .default(0)
    .describe('Share of its commands that never arrive.'),
  refusal: z
    .string()
    .min(1)
    .max(200)
    .exactOptional()
    .describe('Reason with which it refuses every command but a stop.'),
  has_frozen_sensors: z.boolean().default(false).describe('Readings keep value and age.'),
  position_noise_m: z
    .number()
    .min(0)
    .max(100)
    .default(0)
    .describe('Largest error of a position reading.'),
  battery_drop: z
    .strictObject({
      after_s: z.number().min(0).max(1e6),
      percent: z.number().min(0).max(100),
    })
    .exactOptional()
    .describe('Charge that it loses at once at a simulated time.'),
})
export type SimFaults = z.infer<typeof SimFaults>

/**
 * Number from 0 up to 1 that depends on the seed and the label only, so that one device's draws do
 * not shift those of another.
 */
export const drawNumber = (seed: number, label: string): number =>
  Number.parseInt(hash('sha256', `${seed} ${label}`).slice(0, 8), 16) / 2 ** 32
