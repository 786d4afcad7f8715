import { BoundedThread } from '../bounded-thread.ts'
import { ShoalError } from '../errors.ts'
import { DocumentError, limitsOf, type Reading } from './document.ts'
import type { DocumentAnswer, DocumentOrder } from './document-worker.ts'

const FILE = new URL('document-worker.ts', import.meta.url)
const MAX_WAITING = 64
const THREAD_LIMITS = { heapMb: 256, idleMs: 30_000 }

/** Reads documents in a thread of its own, one at a time. */
export class DocumentThread {
  readonly #heapMb: number
  readonly #thread: BoundedThread<DocumentOrder, DocumentAnswer>

  constructor(limits: typeof THREAD_LIMITS = THREAD_LIMITS) {
    this.#heapMb = limits.heapMb
    this.#thread = new BoundedThread({ file: FILE, ...limits })
  }

  /** True while there is a thread. */
  get isStarted(): boolean {
    return this.#thread.isStarted
  }

  /**
   * Parses the bytes and applies the reader.
   * @throws DocumentError, and the ShoalError of a reader
   */
  async read(bytes: Uint8Array, reading: Reading): Promise<unknown> {
    if (this.#thread.waiting >= MAX_WAITING)
      throw new DocumentError('busy', 'waits behind too many others')
    const { maxSeconds } = limitsOf(reading)
    const answer = await this.#thread.ask({ bytes, reading }, maxSeconds)
    if (answer !== undefined) return toValue(answer)
    const message = `takes more than ${maxSeconds} s or ${this.#heapMb} MB to read`
    throw new DocumentError('excessive', message)
  }
}

const toValue = (answer: DocumentAnswer): unknown => {
  if ('value' in answer) return answer.value
  if ('fault' in answer) throw new DocumentError(answer.fault, answer.message)
  const { code, message, param } = answer.refusal
  throw new ShoalError(code, message, param === undefined ? {} : { param })
}
