import * as z from 'zod'

/**
 * Paths of host probes on the link: `GET /host/os-info?input={"…"}`, where `input` is JSON and may be
 * left out, or `POST /host/os-info` for a streamed answer.
 */
export const HOST_PROBE_PATH = '/host/'

/** Largest `data`, as text of JSON. */
export const HOST_DATA_MAX_BYTES = 256 * 1024

/** From asking to the answer, everything included, seconds. */
export const HOST_PROBE_SECONDS = 15

/** The latest time that a date can hold (ECMA-262, time values), milliseconds. */
const LATEST_MS = 8_640_000_000_000_000

export const HostProbeAnswer = z.object({
  /** False where the machine cannot tell: `reason` then says why in plain words, `data` is null. */
  available: z.boolean(),
  /** With an answer: what was left out of it, or null. */
  reason: z.string().max(500).nullable(),
  /** Unix time in milliseconds, by the cell's clock. */
  taken_at: z.int().min(0).max(LATEST_MS),
  data: z.json(),
})
export type HostProbeAnswer = z.infer<typeof HostProbeAnswer>
