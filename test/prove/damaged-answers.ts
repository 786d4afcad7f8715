import { ALL_VALUES, listDamageFaults } from '../support/damaged-answers.ts'
import { LOOKUP_CASES } from '../support/lookup-cases.ts'

/** Answers of every source with each of its values damaged in every way: each lookup survives. */
export const main = async (): Promise<boolean> => {
  let holds = true
  for (const each of LOOKUP_CASES) {
    const damage = { leaves: Number.POSITIVE_INFINITY, valuesPerLeaf: ALL_VALUES }
    const faults = await listDamageFaults(each, damage)
    holds &&= faults.length === 0
    console.log(`${each.module} on ${each.source}: ${faults.length} faults`)
    for (const fault of faults.slice(0, 5)) console.log(`  ${fault}`)
  }
  return holds
}
