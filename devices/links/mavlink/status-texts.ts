import { escapeHidden } from '../../../shared/visible.ts'
import type { Frame } from './frame.ts'
import { decodePayload } from './message.ts'
import { STATUSTEXT } from './messages.ts'

/** `MAV_SEVERITY_WARNING`; lower is worse. */
export const WARNING = 4
const MAX_TEXT = 256
/** A text whose chunks stop for this long is used as it is. */
const CHUNK_TIMEOUT_MS = 1500
/** Bytes of one chunk; a shorter one is the last. */
const CHUNK_BYTES = 50
/** Texts that are kept. */
const MAX_KEPT = 20

/** A text of the autopilot for people, such as the reason of a refusal. */
interface StatusText {
  /** `MAV_SEVERITY`: 0 is an emergency, 7 is debugging. */
  severity: number
  text: string
  /** Monotonic time of its first chunk, in milliseconds. */
  atMs: number
}

interface Pending extends Omit<StatusText, 'text'> {
  id: number
  chunks: Buffer[]
}

/** Stands for a chunk that was lost. */
const GAP = Buffer.from('…')

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
    // the codec reads each byte as one character; a character of UTF-8 may lie on two chunks
    const chunk = Buffer.from(text, 'latin1')
    const isContinued = this.#pending?.id === id && this.#pending.severity === severity
    if (!isContinued || this.#isOverdue(nowMs)) this.flush()
    if (id === 0) {
      this.#keep({ severity, atMs: nowMs, chunks: [chunk] })
      return
    }
    this.#pending ??= { severity, atMs: nowMs, id, chunks: [] }
    this.#pending.chunks[chunk_seq] = chunk
    if (chunk.length < CHUNK_BYTES) this.flush()
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
    if (pending !== undefined) this.#keep(pending)
  }

  #isOverdue(nowMs: number): boolean {
    return this.#pending !== undefined && nowMs - this.#pending.atMs > CHUNK_TIMEOUT_MS
  }

  #keep({ severity, atMs, chunks }: Omit<Pending, 'id'>): void {
    const text = Buffer.concat(Array.from(chunks, chunk => chunk ?? GAP)).toString()
    const shown = { severity, atMs, text: escapeHidden(text).slice(0, MAX_TEXT).toWellFormed() }
    this.#texts.push(shown)
    if (this.#texts.length > MAX_KEPT) this.#texts.shift()
    this.#notify(shown)
  }
}
