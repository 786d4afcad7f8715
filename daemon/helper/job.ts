import { Wakeup } from '../../shared/wakeup.ts'
import type { AnswerEvent, CallProgress } from '../../shared/wire/answer-events.ts'
import type { HelperFailure } from './helper-failure.ts'
import type { ParsedFrame } from './parse-frame.ts'
import { ITEM_OVERHEAD_BYTES, MAX_ITEM_BYTES, WINDOW_BYTES } from './protocol.ts'

/** Call of a helper function by name. It must be safe to repeat. */
export interface HelperCall {
  module: string
  function: string
  input: unknown
  /** Longest run time, in seconds, excluding the wait in the queue. */
  deadlineSeconds: number
  /** True for a call that may run for minutes: few of them run at once, so that others find room. */
  isLong?: boolean
}

type ParsedItem = Extract<ParsedFrame, { type: 'item' }>

/** A call in progress: the events that its reader has not consumed, and its end. */
export class HelperJob {
  readonly id: number
  readonly call: HelperCall
  /**
   * True once its process died during the call: it is repeated alone, so that it cannot take others
   * down with it.
   */
  isAlone = false
  /** Stops the timer of the current state: waiting, running or cancelling. */
  stopTimer = (): void => {}
  readonly #grant: (bytes: number) => void
  readonly #items: ParsedItem[] = []
  readonly #news = new Wakeup()
  #progress: CallProgress | undefined
  #hasAnswered = false
  #unreadBytes = 0
  #takenBytes = 0
  #isOver = false
  #failure: HelperFailure | undefined

  /** @param grant allows the process to send that many more bytes */
  constructor(id: number, call: HelperCall, grant: (bytes: number) => void) {
    this.id = id
    this.call = call
    this.#grant = grant
  }

  /** False after a repeat, and once items were sent: a second run would send them again. */
  get canRepeat(): boolean {
    return !this.isAlone && !this.#hasAnswered
  }

  /** True once the process has sent more than its credit allows. */
  get isOverrun(): boolean {
    return this.#unreadBytes > WINDOW_BYTES + MAX_ITEM_BYTES + ITEM_OVERHEAD_BYTES
  }

  add(item: ParsedItem): void {
    if (this.#isOver) return
    this.#hasAnswered = true
    this.#unreadBytes += item.bytes
    this.#items.push(item)
    this.#news.wake()
  }

  /** Replaces progress that was not read yet. */
  report(progress: CallProgress): void {
    if (this.#isOver) return
    this.#progress = progress
    this.#news.wake()
  }

  /** Ends the call once, with or without a failure; the reader still receives earlier events. */
  end(failure?: HelperFailure): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#failure = failure
    this.#news.wake()
  }

  async *events(): AsyncGenerator<AnswerEvent, void, void> {
    for (;;) {
      const event = this.#take()
      if (event !== undefined) yield event
      else if (this.#failure !== undefined) throw this.#failure
      else if (this.#isOver) return
      else await this.#news.wait()
    }
  }

  #take(): AnswerEvent | undefined {
    const progress = this.#progress
    this.#progress = undefined
    if (progress !== undefined) return { type: 'progress', progress }
    const item = this.#items.shift()
    if (item === undefined) return undefined
    this.#unreadBytes -= item.bytes
    this.#grantCredit(item.bytes)
    return { type: 'item', value: item.value }
  }

  /** Grants credit per half window: fewer messages, and the process rarely waits. */
  #grantCredit(bytes: number): void {
    this.#takenBytes += bytes
    if (this.#takenBytes < WINDOW_BYTES / 2) return
    this.#grant(this.#takenBytes)
    this.#takenBytes = 0
  }
}
