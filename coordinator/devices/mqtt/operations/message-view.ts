import * as z from 'zod'
import { iso } from '../../../../shared/time.ts'
import type { MqttMessageFacts } from '../../../../shared/wire/mqtt-bridge.ts'

/** A message that a broker has sent. */
export const MqttMessageView = z.object({
  topic: z.string(),
  /** JSON where the payload is JSON, else text; base64 of a payload that is not text. */
  payload: z.json(),
  format: z.enum(['json', 'text', 'base64']),
  bytes: z.int(),
  /** True for a message that the broker had kept: its age is unknown. */
  retained: z.boolean(),
  at: z.iso.datetime().describe("Time of arrival, by the cell's clock."),
})

export const messageViewOf = ({
  topic,
  payload,
  encoding,
  bytes,
  retained,
  at,
}: MqttMessageFacts): z.input<typeof MqttMessageView> => {
  const json = encoding === 'text' ? parseJson(payload) : undefined
  return {
    topic,
    payload: json ?? payload,
    format: json === undefined ? encoding : 'json',
    bytes,
    retained,
    at: iso(at),
  }
}

type Json = z.core.util.JSONType

/** Depth limit; deeper values are unreadable for people. */
const MAX_DEPTH = 24

/** Undefined for what is not JSON, or could not be sent as JSON again; `null` stays text. */
const parseJson = (text: string): Json | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isPortable(value, MAX_DEPTH) ? ((value ?? undefined) as Json | undefined) : undefined
  } catch {
    return undefined
  }
}

/** False for infinite numbers (`1e999`), a key that objects treat apart, and what is too deep. */
const isPortable = (value: unknown, depth: number): boolean => {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  if (depth === 0 || Object.hasOwn(value, '__proto__')) return false
  return Object.values(value).every(member => isPortable(member, depth - 1))
}
