import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { type Findings, play } from '../daemon/commands/histories.ts'
import { history } from '../daemon/commands/history-steps.ts'

/**
 * Histories of one cell: commands, duplicates, replays, forgeries, crashes at every write, full and
 * slow disks, clocks that step, answers that come late. An unsafe command must never run twice,
 * after its end, or without the coordinator's signature.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      histories: { type: 'string', default: '10000' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    },
  })
  const seed = Number(values.seed)
  const numRuns = Number(values.histories)
  console.log(`seed ${seed}`)
  const sums = {
    ...{ runs: 0, unsafeRuns: 0, commands: 0, crashes: 0 },
    ...{ estops: 0, releases: 0, held: 0, freed: 0 },
  }
  const result = await fc.check(
    fc.asyncProperty(history, async steps => {
      const findings = await play(steps)
      for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += findings[name]
      return findings.violations.length === 0
    }),
    { numRuns, seed },
  )
  console.log(`${result.numRuns} histories`, sums)
  if (result.failed) await explain(result.counterexample?.[0] ?? [])
  return !result.failed && Object.values(sums).every(sum => sum > 0)
}

const explain = async (steps: Parameters<typeof play>[0]): Promise<void> => {
  const { violations }: Findings = await play(steps)
  console.log('violated by', JSON.stringify(steps), violations)
}
