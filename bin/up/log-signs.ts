import * as z from 'zod'
import type { LogEntry } from './member.ts'

/** Log line of a coordinator that serves. */
export const Up = z.object({
  msg: z.literal('coordinator is up'),
  url: z.url(),
  mqtt_url: z.url().optional(),
  ca_file: z.string().optional(),
})

export type Up = z.infer<typeof Up>

/**
 * True for the log line a daemon writes once it loads nothing more; a failed model is logged
 * earlier.
 */
export const isSettled = ({ msg }: LogEntry): boolean =>
  msg === 'models are loaded' ||
  msg === 'not all models are loaded' ||
  msg === 'models are loaded on their first request'

/** Log line of a coordinator about an hour whose usage is not what was recorded. */
export const LostUsage = z.object({
  msg: z.literal('usage of an hour is missing or was changed'),
  hour: z.string(),
  requests_expected: z.int(),
  requests_found: z.int(),
})
export type LostUsage = z.infer<typeof LostUsage>
