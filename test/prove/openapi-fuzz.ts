import { parseArgs } from 'node:util'
import { fuzz } from '../support/fuzz/run.ts'

/**
 * Random requests over every route of the API document, valid and not: no unexpected 5xx, and every
 * answer is what the document says.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = {
    count: { type: 'string', default: '20000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  } as const
  const { count, seed } = parseArgs({ args: argv, options }).values
  const { calls, statuses, faults } = await fuzz({ count: Number(count), seed: Number(seed) })
  const by = Object.entries(statuses).map(([status, times]) => `${status}: ${times}`)
  console.log(`seed ${seed}: ${calls} requests (${by.join(', ')}), ${faults.length} faults`)
  for (const fault of faults.slice(0, 20)) console.log(fault)
  return faults.length === 0
}
