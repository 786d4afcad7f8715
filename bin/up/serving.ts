import * as z from 'zod'
import type { Wait } from '../../shared/wait.ts'

const POLL_MS = 100
const ANSWER_TIMEOUT_MS = 2000

/** Fields used from `GET /v1/health`. */
const Health = z.object({ cells: z.number(), models: z.number() })

/** Resolves when so many cells serve models, or when the signal aborts. */
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

/** Undefined while there is no answer, or none that makes sense: the next one may. */
const ask = async (url: string, signal: AbortSignal) => {
  const deadline = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, deadline]) })
    return Health.parse(await response.json())
  } catch {
    return undefined
  }
}
