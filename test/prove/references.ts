import { parseArgs } from 'node:util'
import fc from 'fast-check'
import type { Test } from 'tap'
import { openReferenceGame, worlds } from '../support/reference-game.ts'

/** Games at once: while one waits for a cell, another one computes. */
const GAMES = 3

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
  const drawn = fc.sample(worlds, { numRuns: Number(values.worlds), seed }).values()
  let wrong = 0
  const playSome = async (): Promise<Game['tally']> => {
    const { play, tally } = await openReferenceGame({
      teardown: end => void ends.unshift(end),
    } as Test)
    for (const world of drawn)
      await play(world).catch(error => {
        wrong++
        console.log(error, JSON.stringify(world))
      })
    return tally
  }
  const tallies = await Promise.all(Array.from({ length: GAMES }, playSome))
  const sum = (name: keyof Game['tally']) => tallies.reduce((total, each) => total + each[name], 0)
  console.log(
    `${sum('worlds')} worlds: ${sum('devices')} devices, ${sum('refused')} announcements refused, ${sum('references')} references, ${sum('calls')} calls, ${sum('reached')} times a device was reached; ${wrong} worlds wrong`,
  )
  for (const end of ends) await end()
  return wrong === 0
}

type Game = Awaited<ReturnType<typeof openReferenceGame>>
