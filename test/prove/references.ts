import { parseArgs } from 'node:util'
import fc from 'fast-check'
import type { Test } from 'tap'
import { openReferenceGame, worlds } from '../support/reference-game.ts'

/**
 * Births of three cells with ids, names and labels that collide in every way, and every reference to
 * a device on every surface: none reaches a device that it does not name, and what is urgent reaches
 * all that it names.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      worlds: { type: 'string', default: '500' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 30)) },
    },
  })
  const seed = Number(values.seed)
  console.log(`seed ${seed}`)
  const ends: (() => unknown)[] = []
  const game = await openReferenceGame({ teardown: end => void ends.unshift(end) } as Test)
  try {
    await fc.assert(fc.asyncProperty(worlds, game.play), {
      numRuns: Number(values.worlds),
      seed,
      endOnFailure: true,
    })
    return true
  } catch (error) {
    console.log(error)
    return false
  } finally {
    const { worlds: played, devices, refused, references, calls, reached } = game.tally
    console.log(
      `${played} worlds: ${devices} devices, ${refused} announcements refused, ${references} references, ${calls} calls, ${reached} times a device was reached`,
    )
    for (const end of ends) await end()
  }
}
