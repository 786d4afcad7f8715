import { connect } from 'node:net'
import type { ScanScope } from '../../shared/wire/scan-scope.ts'
import { requireInScope } from '../scope.ts'

/**
 * `closed`: the host refused; `filtered`: no answer in time; `unreachable`: the network, or the
 * address resolution on the link, reported that nobody is there.
 */
export type PortState = 'open' | 'closed' | 'filtered' | 'unreachable'

/** `exhausted`: this machine has no descriptor or local port left, which says nothing of the host. */
export type ProbeOutcome = PortState | 'exhausted' | 'aborted'

export interface ProbeOptions {
  scope: ScanScope
  signal: AbortSignal
  timeoutMs: number
}

const OUTCOMES: Readonly<Record<string, ProbeOutcome>> = {
  ECONNREFUSED: 'closed',
  ECONNRESET: 'closed',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EHOSTDOWN: 'unreachable',
  ETIMEDOUT: 'filtered',
  EMFILE: 'exhausted',
  ENFILE: 'exhausted',
  ENOBUFS: 'exhausted',
  ENOMEM: 'exhausted',
  EADDRNOTAVAIL: 'exhausted',
}

/**
 * Opens a TCP connection and closes it without sending a byte.
 * @throws ShoalError forbidden for an address outside the scope, before any packet
 */
export const probePort = (
  address: string,
  port: number,
  { scope, signal, timeoutMs }: ProbeOptions,
): Promise<ProbeOutcome> => {
  if (signal.aborted) return Promise.resolve('aborted')
  requireInScope(scope, address)
  return new Promise(resolve => {
    const socket = connect({ host: address, port })
    const settle = (outcome: ProbeOutcome): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      socket.destroy()
      resolve(outcome)
    }
    const onAbort = (): void => settle('aborted')
    // timers run before sockets: after a late loop, an answer that waits is taken first
    const timer = setTimeout(() => setImmediate(settle, 'filtered'), timeoutMs)
    signal.addEventListener('abort', onAbort, { once: true })
    socket.once('connect', () => settle('open'))
    socket.on('error', ({ code = '' }: NodeJS.ErrnoException) =>
      settle(OUTCOMES[code] ?? 'unreachable'),
    )
  })
}
