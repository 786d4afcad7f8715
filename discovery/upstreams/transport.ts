import type { SourceReply } from './source.ts'

/** A request on the wire. */
export interface TransportRequest {
  method: 'GET' | 'POST'
  url: URL
  headers: Readonly<Record<string, string>>
  body: string | undefined
  hasSecret: boolean
  /** True when shoal or the operator named the host; any other is judged before it is asked. */
  isConfigured: boolean
  /** True when a redirect to another host is refused. */
  staysOnHost: boolean
  connectSeconds: number
  /** Longest time of the request with all redirects. */
  totalSeconds: number
  maxBytes: number
}

export interface TransportReply extends Pick<SourceReply, 'status' | 'headers'> {
  body: Buffer
}

/**
 * Asks one server by the protocol of the address. Throws SendError, or the error of a socket. A
 * protocol without statuses answers 200, or 404 for what the server does not know.
 */
export type Transport = (request: TransportRequest, signal: AbortSignal) => Promise<TransportReply>

/** Transports by the protocol of the address: `https:`, `whois:`. */
export type Transports = Readonly<Record<string, Transport | undefined>>
