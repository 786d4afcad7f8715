import type { OutgoingHttpHeaders } from 'node:http'

/**
 * The data plane to one cell. One of the five ports that hide from the rest how the coordinator runs.
 * Implemented by `link/link.ts`: one HTTP/2 session over the socket that the cell dialled. Every
 * implementation keeps the contract in `test/contracts/cell-link`.
 */
export interface CellLink {
  readonly cellId: string
  /**
   * Opens one request; the listener is never called before this has returned. Throws a ShoalError
   * `cell_unavailable` when the link is down, `headers_too_large` for a head of more than 64 KiB.
   */
  request(request: CellRequest, listener: AnswerListener): CellStream
  /** False once the link takes no more requests. */
  readonly isOpen: boolean
  /** Last measured round trip in milliseconds; undefined before the first. */
  roundTripMs(): number | undefined
  close(): void
}

export interface CellRequest {
  method: 'GET' | 'POST'
  path: string
  headers?: OutgoingHttpHeaders
  body?: Buffer | undefined
}

/** Headers of an answer, names in lower case. Equal answers may share one object: do not modify. */
export type AnswerHeaders = Readonly<Record<string, string | undefined>>

/** Hears of one answer: its head, its pieces, its trailers if there are any, and always its end. */
export interface AnswerListener {
  onHead(status: number, headers: AnswerHeaders): void
  /** Returns true when it has no more use for the piece, whose memory may be released then. */
  onData(piece: Buffer): boolean
  onTrailers(headers: AnswerHeaders): void
  /**
   * A beat of the link: the cell has answered a ping, or, when `isLate`, has not answered one in
   * time. Silence is measured in beats, so that a coordinator that stood still blames no cell.
   */
  onBeat?(everyMs: number, isLate: boolean): void
  /** The end of the answer. `isWhole` is false when it was cut by the cell, the wire or `cancel`. */
  onClose(isWhole: boolean): void
}

export interface CellStream {
  /** Bytes of the body that are not sent yet; infinite while the request waits for a free stream. */
  readonly unsentBytes: number
  /** Stops widening the window of the cell; what the window allows may still arrive. */
  pause(): void
  resume(): void
  /** Resets the request on the cell; `onClose` has been called when this returns. */
  cancel(): void
}
