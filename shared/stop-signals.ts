import { constants } from 'node:os'

/**
 * A terminal sends Ctrl-C to every process in it, and npm and the launcher forward it as well:
 * repeats within this time count as one press.
 */
const SAME_PRESS_MS = 1000

type Name = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

interface StopSignals {
  names: readonly Name[]
  onFirst: (name: Name) => void
  /** Runs on every later signal; when absent, the process exits. */
  onRepeat?: (name: Name) => void
  /** Monotonic clock, in milliseconds. */
  nowMs?: () => number
}

/** Distinguishes the first stop signal from later ones. */
export const onStopSignals = (
  { names, onFirst: first, onRepeat: again = endNow, nowMs = () => performance.now() }: StopSignals,
  source: Pick<NodeJS.EventEmitter, 'on'> = process,
): void => {
  let firstMs: number | undefined
  for (const name of names)
    source.on(name, () => {
      if (firstMs === undefined) {
        firstMs = nowMs()
        first(name)
      } else if (nowMs() - firstMs > SAME_PRESS_MS) again(name)
    })
}

/** Exit code that a shell reports for a process ended by a signal. */
const endNow = (name: Name): never => process.exit(128 + constants.signals[name])
