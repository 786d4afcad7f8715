import { parseArgs } from 'node:util'
import { foreignCalls, foreignCases } from '../support/foreign-ids.ts'
import { governanceScene } from '../support/governance.ts'

/** A key has 300 calls a minute: each part has people of its own. */
const PART = 100

/**
 * Reads and writes by a stranger with random ids of another tenant, over every operation in turn:
 * all refused, all alike.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = { count: { type: 'string', default: '500' } } as const
  const count = Number(parseArgs({ args: argv, options }).values.count)
  const faults: string[] = []
  for (let done = 0; done < count; done += PART)
    faults.push(...(await part(done, Math.min(PART, count - done))))
  console.log(
    `${count} calls with ids of another tenant over ${foreignCases().length} places for one, ${faults.length} told or allowed something`,
  )
  for (const fault of faults.slice(0, 10)) console.log(fault)
  return faults.length === 0
}

const part = async (first: number, count: number): Promise<string[]> => {
  const ends: (() => unknown)[] = []
  const scene = await governanceScene({ teardown: run => void ends.push(run as () => unknown) })
  const below = (limit: number) => Math.floor(Math.random() * limit)
  const faults = await foreignCalls(scene, { count, below, first })
  for (const end of ends.toReversed()) await end()
  return faults
}
