import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { cancelIn, PHASES } from '../support/cancelling.ts'
import { startInOneProcess } from '../support/one-process-stack.ts'

/**
 * Clients leave in every phase of a request, 200 times each, through a real coordinator, link,
 * daemon and engine. What they held must be free within 250 ms, which is more than one prompt chunk
 * takes on a machine that has nothing else to do.
 */
const BOUND_MS = 250
const SLOTS = 8
const QUEUE_FACTOR = 5

export const main = async (argv: string[]): Promise<boolean> => {
  const options = { requests: { type: 'string', default: '200' } } as const
  const requests = Number(parseArgs({ args: argv, options }).values.requests)
  const stack = await startInOneProcess({ slots: SLOTS, queue_factor: QUEUE_FACTOR })
  const limits = { slots: SLOTS, queue: SLOTS * QUEUE_FACTOR }
  const rows = []
  try {
    for (const phase of PHASES) {
      const tookMs = (await cancelIn(stack, phase, limits, requests)).sort((a, b) => a - b)
      rows.push({
        phase,
        requests,
        free_after_ms_median: Math.round(tookMs[Math.floor(tookMs.length / 2)] ?? 0),
        free_after_ms_longest: Math.round(tookMs.at(-1) ?? 0),
      })
    }
  } finally {
    await stack.stop()
  }
  console.table(rows)
  console.log(`load ${loadavg()[0]?.toFixed(1)}: on a busy machine a prompt chunk takes longer`)
  return rows.every(row => row.free_after_ms_longest <= BOUND_MS)
}
