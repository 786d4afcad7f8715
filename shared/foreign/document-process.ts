import { BoundedProcess } from '../bounded-process.ts'
import { ShoalError } from '../errors.ts'
import { DocumentError, limitsOf, type Reading } from './document.ts'
import type { DocumentAnswer, DocumentOrder } from './document-program.ts'

const FILE = new URL('document-program.ts', import.meta.url)
const MAX_WAITING = 64
const PROCESS_LIMITS = { heapMb: 256, idleMs: 30_000 }

/** Reads documents in a process of its own, one at a time. */
export class DocumentProcess {
  readonly #heapMb: number
  readonly #process: BoundedProcess<DocumentOrder, DocumentAnswer>

  constructor(limits: typeof PROCESS_LIMITS = PROCESS_LIMITS) {
    this.#heapMb = limits.heapMb
    this.#process = new BoundedProcess({ file: FILE, ...limits })
  }

  /** True while there is a process. */
  get isStarted(): boolean {
    return this.#process.isStarted
  }

  /**
   * Parses the bytes and applies the reader.
   * @throws DocumentError, and the ShoalError of a reader
   */
  async read(bytes: Uint8Array, reading: Reading): Promise<unknown> {
    if (this.#process.waiting >= MAX_WAITING)
      throw new DocumentError('busy', 'waits behind too many others')
    const { maxSeconds } = limitsOf(reading)
    const answer = await this.#process.ask({ bytes, reading }, maxSeconds)
    if (answer !== undefined) return toValue(answer)
    const message = `was not read within ${maxSeconds} s and ${this.#heapMb} MB`
    throw new DocumentError('excessive', message)
  }
}

const toValue = (answer: DocumentAnswer): unknown => {
  if ('value' in answer) return answer.value
  if ('fault' in answer) throw new DocumentError(answer.fault, answer.message)
  const { code, message, param } = answer.refusal
  throw new ShoalError(code, message, param === undefined ? {} : { param })
}
