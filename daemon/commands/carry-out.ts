import { setTimeout as sleep } from 'node:timers/promises'
import { canonicalJson } from '../../shared/canonical-json.ts'
import { ShoalError } from '../../shared/errors.ts'
import type { Ack, Command } from '../../shared/wire/command.ts'
import { type Outcome, short } from './outcome.ts'
import type { Verb } from './verb.ts'

const MAX_RESULT_BYTES = 32 * 1024

/**
 * Runs a verb within its time. Answers undefined when the daemon is told to stop meanwhile: then
 * the journal says that it was executing, and the next start says what that means.
 */
export const carryOut = async (
  verb: Verb,
  { params, mode, hazard }: Command,
  stop: AbortSignal,
): Promise<Outcome | undefined> => {
  if (mode === 'dry') return { state: 'succeeded', result: { would_run: verb.verb } }
  const over = new AbortController()
  const signal = AbortSignal.any([stop, over.signal])
  try {
    const running = verb.run(params, signal).then(result => ({ result }))
    const late = sleep(verb.timeout_seconds * 1000, undefined, { signal })
    const done = await Promise.race([running, late])
    if (stop.aborted) return undefined
    return done === undefined ? tooLate(verb, hazard) : succeeded(done.result)
  } catch (error) {
    if (stop.aborted) return undefined
    const reason = error instanceof ShoalError ? error.code : 'error'
    return { state: 'failed', reason, message: short((error as Error).message) }
  } finally {
    over.abort()
  }
}

const succeeded = (result: Exclude<Ack['result'], undefined>): Outcome => {
  try {
    if (Buffer.byteLength(canonicalJson(result)) <= MAX_RESULT_BYTES)
      return { state: 'succeeded', result }
    return { state: 'succeeded', message: 'the result is too large to be told' }
  } catch {
    return { state: 'succeeded', message: 'the result cannot be signed' }
  }
}

const tooLate = ({ timeout_seconds }: Verb, hazard: Command['hazard']): Outcome => ({
  state: hazard === 'read' || hazard === 'safe' ? 'failed' : 'unknown',
  reason: 'timeout',
  message: `no end within ${timeout_seconds} s`,
})
