import * as z from 'zod'
import type { Wait } from '../../shared/wait.ts'

const POLL_MS = 100
const ANSWER_TIMEOUT_MS = 2000

/** Fields used from `GET /v1/health`. */
const Health = z.object({ cells: z.number(), models: z.number() })

/** Resolves when this number of cells serve models, or when the signal aborts. */
export const waitUntilServing = async (
  baseUrl: string,
  cells: number,
  wait: Wait,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    const health = await ask(`${baseUrl}/v1/health`, signal)
    if (health && health.cells >= cells && health.models > 0) return
    await wait(POLL_MS, signal)
  }
}

/** Health of the coordinator; undefined while there is no valid answer. */
const ask = async (url: string, signal: AbortSignal) => {
  const deadline = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, deadline]) })
    return Health.parse(await response.json())
  } catch {
    return undefined
  }
}
