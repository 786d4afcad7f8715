import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { acceptsItsRange } from '../support/integer-ranges.ts'

/** Ranges of integers in a schema: the grammar of each accepts exactly the integers in it. */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = {
    ranges: { type: 'string', default: '10000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  } as const
  const { values } = parseArgs({ args: argv, options })
  const seed = Number(values.seed)
  const result = fc.check(acceptsItsRange, { numRuns: Number(values.ranges), seed })
  console.log(`seed ${seed}: ${result.numRuns} ranges`)
  if (result.failed) console.log('violated by', result.counterexample)
  return !result.failed
}
