import { parseArgs } from 'node:util'
import { proveFormation } from '../support/formation-proof.ts'

/** Formations of random units, each with a seed of its own: none may bring two units too close. */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = {
    formations: { type: 'string', default: '10000' },
    units: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
  } as const
  const { formations, units, seed } = parseArgs({ args: argv, options }).values
  const counts: Record<string, number> = { direct: 0, layered: 0, staged: 0, refused: 0 }
  let failures = 0
  for (let at = 0; at < Number(formations); at++) {
    const { strategy, faults } = proveFormation(Number(seed) + at, Number(units))
    counts[strategy] = (counts[strategy] ?? 0) + 1
    if (faults.length === 0) continue
    failures++
    console.log(`seed ${Number(seed) + at}: ${faults.join('; ')}`)
  }
  const last = Number(seed) + Number(formations) - 1
  console.log(`seeds ${seed} to ${last}, 2 to ${units} units, ${failures} failures`)
  console.table([counts])
  return failures === 0
}
