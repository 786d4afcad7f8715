import { LostUsage } from './log-signs.ts'
import type { LogEntry } from './member.ts'

/** Repeats on the terminal what the log of one member reports about its engines and about usage. */
export class LogReports {
  readonly #say: (text: string) => void
  /** Reason of each engine that has failed, by its weights. */
  readonly #failed = new Map<unknown, unknown>()

  constructor(say: (text: string) => void) {
    this.#say = say
  }

  onEntry(entry: LogEntry): void {
    const { msg, weights, reason } = entry
    if (msg === 'engine failed' && this.#failed.get(weights) !== reason) {
      this.#failed.set(weights, reason)
      this.#say(`${describeModels(entry)}: ${reason}`)
    }
    if (msg === 'engine ready' && this.#failed.delete(weights))
      this.#say(`${describeModels(entry)}: the engine is ready again`)
    const loss = LostUsage.safeParse(entry)
    if (loss.success) this.#say(describeLoss(loss.data))
  }
}

/** Ids that a line has room for. */
const MAX_NAMED = 3

/** Ids of the engine's models; its weights while it serves none. */
const describeModels = ({ models, weights }: LogEntry): string => {
  const ids = Array.isArray(models) ? models : []
  const more = ids.length > MAX_NAMED ? [`${ids.length - MAX_NAMED} more`] : []
  return ids.length === 0 ? `${weights}` : [...ids.slice(0, MAX_NAMED), ...more].join(', ')
}

const describeLoss = ({ hour, requests_found, requests_expected }: LostUsage): string =>
  `usage of ${hour} is missing or was changed: ${requests_found} of ${requests_expected} requests are stored; shoal alerts list shows what to do`
