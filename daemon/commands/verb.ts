import * as z from 'zod'
import type { Hazard, VerbFacts } from '../../shared/wire/command.ts'

/** One thing that this cell can be commanded to do. */
export interface Verb extends VerbFacts {
  params: z.ZodObject
  /** The signal aborts when the time is up or the daemon stops. */
  run(params: Record<string, unknown>, signal: AbortSignal): Promise<z.core.util.JSONType>
}

export interface BuiltInParts {
  /** Announces the cell again. */
  announce: () => Promise<void>
  /** Ends the engines and begins to start them again; what they were doing is lost. */
  restartEngines: () => void
}

const NOTHING = z.strictObject({})

const verb = (
  name: string,
  hazard: Hazard,
  description: string,
  run: () => Promise<z.core.util.JSONType>,
): Verb => ({ verb: name, hazard, description, timeout_seconds: 30, params: NOTHING, run })

/** What every cell can be commanded to do. */
export const builtInVerbs = ({ announce, restartEngines }: BuiltInParts): Verb[] => [
  verb('ping', 'safe', 'Answers, and changes nothing.', async () => ({ pong: true })),
  verb('announce', 'safe', 'Says again what the cell is.', async () => {
    await announce()
    return { announced: true }
  }),
  verb(
    'engine-restart',
    'caution',
    'Restarts the inference engines; running requests fail.',
    async () => {
      restartEngines()
      return { restarting: true }
    },
  ),
]

export const factsOf = ({ verb, description, hazard, timeout_seconds }: Verb): VerbFacts => ({
  verb,
  description,
  hazard,
  timeout_seconds,
})
