import * as z from 'zod'
import type { LogEntry } from './member.ts'

/** Log line of a coordinator that serves. */
export const Up = z.object({
  msg: z.literal('coordinator is up'),
  url: z.url(),
  mqtt_url: z.url().optional(),
})

/**
 * True for the log line a daemon writes once it loads nothing more; a failed model is logged
 * earlier.
 */
export const isSettled = ({ msg }: LogEntry): boolean =>
  msg === 'models are loaded' ||
  msg === 'not all models are loaded' ||
  msg === 'models are loaded when they are asked for'
