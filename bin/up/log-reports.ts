import { LostUsage } from './log-signs.ts'
import type { LogEntry } from './member.ts'

/** Repeats on the terminal what the log of one member reports about its engines and about usage. */
export class LogReports {
  readonly #say: (text: string) => void
  readonly #failed = new Set<unknown>()

  constructor(say: (text: string) => void) {
    this.#say = say
  }

  onEntry(entry: LogEntry): void {
    const { msg, weights } = entry
    if (msg === 'engine failed') {
      this.#failed.add(weights)
      this.#say(`${weights}: ${entry.reason}`)
    }
    if (msg === 'engine ready' && this.#failed.delete(weights))
      this.#say(`${weights}: the engine is ready again`)
    const loss = LostUsage.safeParse(entry)
    if (loss.success) this.#say(describeLoss(loss.data))
  }
}

const describeLoss = ({ hour, requests_found, requests_expected }: LostUsage): string =>
  `usage of ${hour} is missing or was changed: ${requests_found} of ${requests_expected} requests are there; shoal alerts list says what to do`
