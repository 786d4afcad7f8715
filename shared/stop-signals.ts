import { constants } from 'node:os'

/**
 * A terminal sends Ctrl-C to every process in it, and npm and the launcher hand on what they get:
 * what comes again within this time is the same press.
 */
const SAME_PRESS_MS = 1000

type Name = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

export interface StopSignals {
  names: readonly Name[]
  first: (name: Name) => void
  /** Every later one; ends the process when absent. */
  again?: (name: Name) => void
  /** Milliseconds of a clock that never goes back. */
  nowMs?: () => number
}

/** Tells the first wish to stop from the later, less patient ones. */
export const onStopSignals = (
  { names, first, again = endNow, nowMs = () => performance.now() }: StopSignals,
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

/** As a shell shows the end by a signal. */
const endNow = (name: Name): never => process.exit(128 + constants.signals[name])
