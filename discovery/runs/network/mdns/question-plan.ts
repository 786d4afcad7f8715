import type { Link } from '../../../../shared/mdns/links.ts'
import { foldName } from '../../../../shared/mdns/names.ts'
import type { MdnsQuestion } from '../../../../shared/mdns/query.ts'

interface PlannedQuestion {
  question: MdnsQuestion
  nextAt: number
  intervalMs: number
}

/** First interval between two equal questions, doubled each time (RFC 6762, 5.2). */
const FIRST_INTERVAL_MS = 1000

/** Most different questions on a link, so that no answer can make this cell ask without end. */
const MAX_QUESTIONS = 256

/** Questions of one link, each repeated at growing intervals until it is answered. */
export class QuestionPlan {
  readonly link: Link
  readonly #planned = new Map<string, PlannedQuestion>()
  readonly #known = new Set<string>()

  constructor(link: Link) {
    this.link = link
  }

  /** Plans a question once; a second call for the same question has no effect. */
  add(question: MdnsQuestion, at: number): void {
    if (!this.#known.has(keyOf(question))) this.renew(question, at)
  }

  /** Asks a question again, for a record that is about to expire. */
  renew(question: MdnsQuestion, at: number): void {
    const key = keyOf(question)
    if (this.#known.size >= MAX_QUESTIONS && !this.#known.has(key)) return
    this.#known.add(key)
    this.#planned.set(key, { question, nextAt: at, intervalMs: FIRST_INTERVAL_MS })
  }

  /** Ends the repetition of a question whose answer is known. */
  settle(question: MdnsQuestion): void {
    this.#planned.delete(keyOf(question))
  }

  /** Questions to send now. */
  takeDue(now: number): MdnsQuestion[] {
    const due = [...this.#planned.values()].filter(({ nextAt }) => nextAt <= now)
    for (const planned of due) {
      planned.nextAt = now + planned.intervalMs
      planned.intervalMs *= 2
    }
    return due.map(({ question }) => question)
  }
}

const keyOf = ({ name, type }: MdnsQuestion): string => `${type}\n${foldName(name)}`
