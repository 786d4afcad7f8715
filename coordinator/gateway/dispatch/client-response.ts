import type { OutgoingHttpHeaders } from 'node:http'
import type { Writable } from 'node:stream'

/** Members of a server response that writers of answers use; an internal answer has them too. */
export interface ClientResponse
  extends Pick<
    Writable,
    | 'closed'
    | 'cork'
    | 'destroy'
    | 'destroyed'
    | 'end'
    | 'on'
    | 'once'
    | 'uncork'
    | 'writableEnded'
    | 'writableLength'
    | 'writableNeedDrain'
    | 'write'
  > {
  readonly headersSent: boolean
  /** Null for an internal answer, and once a response was sent. */
  readonly socket: { readonly destroyed: boolean } | null
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown
}
