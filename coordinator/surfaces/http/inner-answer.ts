import { Writable } from 'node:stream'
import { detailsIn, isErrorCode, ShoalError } from '../../../shared/errors.ts'
import type { ClientResponse } from '../../gateway/dispatch/client-response.ts'

/**
 * Stands in for a client's response within the process: it has the members that writers of
 * responses use, and passes the bytes to a reader instead of a socket.
 */
export class InnerAnswer extends Writable implements ClientResponse {
  /** Null, since there is no socket to close. */
  readonly socket = null
  headersSent = false
  statusCode = 0
  readonly #take: (piece: Buffer) => Promise<void>
  readonly #error: Buffer[] = []

  /** `take` is given the pieces of an answer that is a success, each after it took the one before. */
  constructor(take: (piece: Buffer) => Promise<void>) {
    super()
    this.#take = take
  }

  writeHead(status: number): this {
    this.headersSent = true
    this.statusCode = status
    return this
  }

  override _write(piece: Buffer, _encoding: string, done: (error?: Error) => void): void {
    if (this.statusCode === 200) {
      this.#take(piece).then(() => done(), done)
      return
    }
    this.#error.push(piece)
    done()
  }

  /** Error that the answer reports; undefined for a success. */
  refusal(): ShoalError | undefined {
    if (this.statusCode === 200) return undefined
    if (this.statusCode === 0) return new ShoalError('cell_unavailable', 'the answer was cut off')
    return errorOf(Buffer.concat(this.#error))
  }
}

/** An error's body in our own form, or in a cell's. */
export const errorOf = (body: Buffer | string): ShoalError => {
  try {
    const { message, code, ...others } = JSON.parse(String(body)).error
    const known = isErrorCode(code) ? code : 'cell_unavailable'
    return new ShoalError(known, String(message), detailsIn(others))
  } catch {
    return new ShoalError('cell_unavailable', "the model's answer cannot be parsed")
  }
}
