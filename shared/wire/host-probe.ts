import * as z from 'zod'

/**
 * Paths of host probes on the link: `GET /host/os-info?input={"…"}`, where `input` is JSON and
 * optional, or `POST /host/os-info` for a streamed answer.
 */
export const HOST_PROBE_PATH = '/host/'

/** Largest `data`, in characters of JSON text. */
export const HOST_DATA_MAX_BYTES = 256 * 1024

/** Longest total time from request to answer, in seconds. */
export const HOST_PROBE_SECONDS = 15

/** Latest time that a date can hold (ECMA-262, time values), in milliseconds. */
const LATEST_MS = 8_640_000_000_000_000

export const HostProbeAnswer = z.object({
  /** False where the machine cannot tell: `reason` has the explanation, and `data` is null. */
  available: z.boolean(),
  /**
   * Parts that an answer with data leaves out, or null if it is complete; without data, the
   * explanation.
   */
  reason: z.string().max(500).nullable(),
  /** Unix time in milliseconds, by the cell's clock. */
  taken_at: z.int().min(0).max(LATEST_MS),
  data: z.json(),
})
export type HostProbeAnswer = z.infer<typeof HostProbeAnswer>
