import { escapeHidden } from '../../../shared/visible.ts'
import type { Frame } from './frame.ts'
import { decodePayload } from './message.ts'
import { STATUSTEXT } from './messages.ts'

/** `MAV_SEVERITY_WARNING`; lower is worse. */
export const WARNING = 4
const MAX_TEXT = 256
/** A text whose chunks stop for this long is used as it is. */
const CHUNK_TIMEOUT_MS = 1500
/** Characters of one chunk; a shorter one is the last. */
const CHUNK_LENGTH = 50
/** Texts that are kept. */
const MAX_KEPT = 20

/** A text of the autopilot for people, such as the reason of a refusal. */
export interface StatusText {
  /** `MAV_SEVERITY`: 0 is an emergency, 7 is debugging. */
  severity: number
  text: string
  /** Monotonic time of its first chunk, in milliseconds. */
  atMs: number
}

interface Pending extends StatusText {
  id: number
  chunks: string[]
}

/** Joins the texts of one vehicle from their chunks, and keeps the newest. */
export class StatusTexts {
  readonly #texts: StatusText[] = []
  readonly #notify: (text: StatusText) => void
  #pending: Pending | undefined

  constructor(notify: (text: StatusText) => void) {
    this.#notify = notify
  }

  /** Takes a frame with a text; `nowMs` is monotonic. */
  take({ payload }: Frame, nowMs: number): void {
    const { severity, text, id, chunk_seq } = decodePayload(STATUSTEXT, payload)
    const isContinued = this.#pending?.id === id && this.#pending.severity === severity
    if (!isContinued || this.#isOverdue(nowMs)) this.flush()
    if (id === 0) {
      this.#keep({ severity, text, atMs: nowMs })
      return
    }
    this.#pending ??= { severity, text: '', atMs: nowMs, id, chunks: [] }
    // at most 255 chunks of 50 characters; a lost chunk leaves a gap
    this.#pending.chunks[chunk_seq] = text
    if (text.length < CHUNK_LENGTH) this.flush()
  }

  /** Texts since a monotonic time, oldest first, with one whose end was lost. */
  listSince(sinceMs: number, nowMs: number): StatusText[] {
    if (this.#isOverdue(nowMs)) this.flush()
    return this.#texts.filter(({ atMs }) => atMs >= sinceMs)
  }

  /** Completes a text whose last chunk is missing. */
  flush(): void {
    const pending = this.#pending
    this.#pending = undefined
    if (pending === undefined) return
    const { severity, atMs, chunks } = pending
    const text = Array.from(chunks, chunk => chunk ?? '…').join('')
    this.#keep({ severity, atMs, text })
  }

  #isOverdue(nowMs: number): boolean {
    return this.#pending !== undefined && nowMs - this.#pending.atMs > CHUNK_TIMEOUT_MS
  }

  #keep({ text, ...facts }: StatusText): void {
    const shown = { ...facts, text: escapeHidden(text).slice(0, MAX_TEXT).toWellFormed() }
    this.#texts.push(shown)
    if (this.#texts.length > MAX_KEPT) this.#texts.shift()
    this.#notify(shown)
  }
}
