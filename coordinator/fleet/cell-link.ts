import type { ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2'

/**
 * The data plane to one cell. One of the five ports behind which the rest does not know how the
 * coordinator runs; today's implementation is `link/link.ts`, one HTTP/2 session over the socket
 * that the cell dialled.
 */
export interface CellLink {
  readonly cellId: string
  /**
   * Opens one request. Throws when the link is gone. The stream is complete only if its `trailers`
   * event carried the usage trailer; any other end is a failure. `close(NGHTTP2_CANCEL)` cancels.
   */
  request(headers: OutgoingHttpHeaders, body: Buffer | undefined): ClientHttp2Stream
  /** Last measured round trip, milliseconds; undefined before the first. */
  roundTripMs(): number | undefined
  close(): void
}
