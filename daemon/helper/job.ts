import { Wakeup } from '../../shared/wakeup.ts'
import type { AnswerEvent, CallProgress } from '../../shared/wire/answer-events.ts'
import type { HelperFailure } from './helper-failure.ts'
import { WINDOW_BYTES } from './protocol.ts'

/** One call of a function that the helper knows by name. It must be harmless to repeat. */
export interface HelperCall {
  module: string
  function: string
  input: unknown
  /** Longest time it may run, seconds; waiting for its turn comes before. */
  deadlineSeconds: number
}

/** A call on its way: what its reader has not taken yet, and how it ended. */
export class Job {
  readonly id: number
  readonly call: HelperCall
  /** True once its process has ended under it: it is repeated alone, so that it takes no others along. */
  isAlone = false
  /** Stops the timer of its state: waiting, running or being cancelled. */
  stopTimer = (): void => {}
  readonly #grant: (bytes: number) => void
  readonly #items: string[] = []
  readonly #news = new Wakeup()
  #progress: CallProgress | undefined
  #hasAnswered = false
  #takenBytes = 0
  #isOver = false
  #failure: HelperFailure | undefined

  /** @param grant tells the process that it may send so many bytes more */
  constructor(id: number, call: HelperCall, grant: (bytes: number) => void) {
    this.id = id
    this.call = call
    this.#grant = grant
  }

  /** False once it was repeated, and once it has sent items, which a second run would send again. */
  get canRepeat(): boolean {
    return !this.isAlone && !this.#hasAnswered
  }

  add(json: string): void {
    if (this.#isOver) return
    this.#hasAnswered = true
    this.#items.push(json)
    this.#news.wake()
  }

  /** Progress that was not read yet is replaced. */
  report(progress: CallProgress): void {
    if (this.#isOver) return
    this.#progress = progress
    this.#news.wake()
  }

  /** Ends it once, with a failure or well; the reader still gets what was sent before. */
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
    const json = this.#items.shift()
    if (json === undefined) return undefined
    this.#granted(Buffer.byteLength(json))
    return { type: 'item', value: JSON.parse(json) }
  }

  /** What is half used is granted again: fewer messages, and the process rarely waits. */
  #granted(bytes: number): void {
    this.#takenBytes += bytes
    if (this.#takenBytes < WINDOW_BYTES / 2) return
    this.#grant(this.#takenBytes)
    this.#takenBytes = 0
  }
}
