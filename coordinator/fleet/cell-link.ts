import type { OutgoingHttpHeaders } from 'node:http'

/**
 * The data plane to one cell. One of the five ports behind which the rest does not know how the
 * coordinator runs; today's implementation is `link/link.ts`, one HTTP/2 session over the socket
 * that the cell dialled.
 */
export interface CellLink {
  readonly cellId: string
  /**
   * Opens one request and tells the listener, never before it has returned. Throws a ShoalError
   * `cell_unavailable` when the link is gone.
   */
  request(request: CellRequest, listener: AnswerListener): CellStream
  /** Last measured round trip, milliseconds; undefined before the first. */
  roundTripMs(): number | undefined
  close(): void
}

export interface CellRequest {
  method: 'GET' | 'POST'
  path: string
  headers?: OutgoingHttpHeaders
  body?: Buffer | undefined
}

/** Of a cell's answer, names in lower case. Like answers may share one: it is not to be changed. */
export type AnswerHeaders = Readonly<Record<string, string | undefined>>

/** Told of one answer: its head, its pieces, its trailers if there are any, and always its end. */
export interface AnswerListener {
  head(status: number, headers: AnswerHeaders): void
  data(piece: Buffer): void
  trailers(headers: AnswerHeaders): void
  /** Nothing has come for `SILENCE_MS`. */
  silent(): void
  /** The last word. False when it was cut: by the cell, by the wire or by `cancel`. */
  closed(isWhole: boolean): void
}

export interface CellStream {
  /** Lets the cell send no more than it was allowed to already, which still comes. */
  pause(): void
  resume(): void
  /** The cell is told to stop; `closed` has been called when this returns. */
  cancel(): void
}

/** A cell may queue, load and read a long prompt; one that says nothing for so long hangs. */
export const SILENCE_MS = 10 * 60_000
