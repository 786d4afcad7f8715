import { describeCheck } from '../../shared/wire/describe-check.ts'
import type { Precondition } from '../../shared/wire/plan-part.ts'
import { CommandFailure } from '../commands/outcome.ts'

interface WatchParts {
  /** Ends the watch: the verb is being ended already. */
  signal: AbortSignal
  /** Checks what must hold while the verb runs. */
  check: () => readonly Precondition[]
  /** Calls back when readings have changed. Returns how to stop that. */
  onChange: (listener: () => void) => () => void
  /** Calls back every interval. Returns how to stop that. */
  every?: (milliseconds: number, call: () => void) => () => void
}

interface EnvelopeWatch {
  /** Aborts with the violation when a limit no longer holds. */
  signal: AbortSignal
  stop(): void
}

/** Interval of the checks that no reading prompts: a reading becomes stale by itself. */
const CHECK_EVERY_MS = 250

const realEvery = (milliseconds: number, call: () => void): (() => void) => {
  const timer = setInterval(call, milliseconds)
  return () => clearInterval(timer)
}

/** Watches the limits of a device while one of its verbs runs. */
export const watchEnvelope = ({
  signal,
  check,
  onChange,
  every = realEvery,
}: WatchParts): EnvelopeWatch => {
  const violation = new AbortController()
  const look = (): void => {
    const failing = check().find(({ holds }) => !holds)
    if (failing === undefined) return
    stop()
    violation.abort(new CommandFailure('envelope_violated', describeCheck(failing)))
  }
  const undo = [onChange(look), every(CHECK_EVERY_MS, look)]
  const stop = (): void => {
    for (const off of undo) off()
    signal.removeEventListener('abort', stop)
  }
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  return { signal: violation.signal, stop }
}
