import * as z from 'zod'
import type { Verb } from './verb.ts'

interface BuiltInParts {
  /** Publishes the birth of the cell again. */
  announce: () => Promise<void>
  /** Stops the engines and starts them again; running requests fail. */
  restartEngines: () => void
}

/** Creates a verb of the cell itself without parameters; its plan is its name. */
const createPlainVerb = (facts: Pick<Verb, 'verb' | 'hazard' | 'description' | 'run'>): Verb => ({
  ...facts,
  timeout_seconds: 30,
  params: z.strictObject({}),
  plan: () => ({ operations: [facts.verb], bounds: {} }),
})

/** Creates the verbs that every cell supports. */
export const createBuiltInVerbs = ({ announce, restartEngines }: BuiltInParts): Verb[] => [
  createPlainVerb({
    verb: 'ping',
    hazard: 'safe',
    description: 'Answers without changing anything.',
    run: async () => ({ pong: true }),
  }),
  createPlainVerb({
    verb: 'announce',
    hazard: 'safe',
    description: 'Publishes the birth of the cell again.',
    run: async () => {
      await announce()
      return { announced: true }
    },
  }),
  createPlainVerb({
    verb: 'engine-restart',
    hazard: 'caution',
    description: 'Restarts the inference engines; running requests fail.',
    run: async () => {
      restartEngines()
      return { restarting: true }
    },
  }),
]
