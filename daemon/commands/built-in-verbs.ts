import * as z from 'zod'
import type { Verb } from './verb.ts'

export interface BuiltInParts {
  /** Announces the cell again. */
  announce: () => Promise<void>
  /** Ends the engines and begins to start them again; what they were doing is lost. */
  restartEngines: () => void
}

/** A verb of the cell itself without parameters: its plan is its name. */
const plainVerb = (facts: Pick<Verb, 'verb' | 'hazard' | 'description' | 'run'>): Verb => ({
  ...facts,
  timeout_seconds: 30,
  params: z.strictObject({}),
  plan: () => ({ operations: [facts.verb], bounds: {} }),
})

/** What every cell can be commanded to do. */
export const builtInVerbs = ({ announce, restartEngines }: BuiltInParts): Verb[] => [
  plainVerb({
    verb: 'ping',
    hazard: 'safe',
    description: 'Answers, and changes nothing.',
    run: async () => ({ pong: true }),
  }),
  plainVerb({
    verb: 'announce',
    hazard: 'safe',
    description: 'Says again what the cell is.',
    run: async () => {
      await announce()
      return { announced: true }
    },
  }),
  plainVerb({
    verb: 'engine-restart',
    hazard: 'caution',
    description: 'Restarts the inference engines; running requests fail.',
    run: async () => {
      restartEngines()
      return { restarting: true }
    },
  }),
]
