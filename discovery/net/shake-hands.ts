import { isIP } from 'node:net'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import type { ScanScope } from '../../shared/wire/scan-scope.ts'
import { requireInScope } from '../scope.ts'
import { readTlsFacts } from './read-tls-facts.ts'
import type { TlsFacts } from './tls-facts.ts'

interface TlsTarget {
  /** Name that the caller asked for; it is sent as SNI unless it is an address. */
  host: string
  address: string
  port: number
  scope: ScanScope
  signal: AbortSignal
  timeoutMs: number
}

/**
 * Old protocols and weak keys are spoken on purpose: they are what the check has to show. No data
 * is sent over the connection.
 */
export const ANY_SERVER: ConnectionOptions = {
  rejectUnauthorized: false,
  minVersion: 'TLSv1',
  ciphers: 'DEFAULT@SECLEVEL=0',
  // names are compared apart, so that the error of the chain stays visible
  checkServerIdentity: () => undefined,
}

export const serverNameOf = (host: string): { servername?: string } =>
  isIP(host) === 0 ? { servername: host } : {}

/** Explains a failed handshake; OpenSSL's own text names its source files and threads. */
export const toTlsError = (error: Error): Error => {
  const { code = '', reason } = error as { code?: string; reason?: string }
  if (!code.startsWith('ERR_SSL_')) return error
  const text =
    code === 'ERR_SSL_WRONG_VERSION_NUMBER'
      ? 'the server does not speak TLS'
      : `the TLS handshake failed: ${reason ?? code}`
  return new Error(text, { cause: error })
}

/**
 * Makes a TLS handshake and reads what the server shows.
 * @throws ShoalError forbidden outside the scope; Error of the system for every other failure
 */
export const shakeHands = async (target: TlsTarget): Promise<TlsFacts> => {
  requireInScope(target.scope, target.address)
  const { socket, isStapled } = await handshake(target)
  try {
    return readTlsFacts(socket, { host: target.host, isStapled, now: Date.now() })
  } finally {
    socket.destroy()
  }
}

const handshake = (target: TlsTarget): Promise<{ socket: TLSSocket; isStapled: boolean }> => {
  const { host, address, port, signal, timeoutMs } = target
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  return new Promise((resolve, reject) => {
    let isStapled = false
    const socket = connect({
      ...ANY_SERVER,
      ...serverNameOf(host),
      host: address,
      port,
      ALPNProtocols: ['h2', 'http/1.1'],
      requestOCSP: true,
    })
    const fail = (error: Error): void => {
      socket.destroy()
      reject(toTlsError(error))
    }
    const onAbort = (): void => fail(new Error(`no TLS handshake within ${timeoutMs} ms`))
    limit.addEventListener('abort', onAbort, { once: true })
    socket.once('close', () => limit.removeEventListener('abort', onAbort))
    socket.on('OCSPResponse', response => {
      isStapled = response !== null && response.length > 0
    })
    socket.once('secureConnect', () => resolve({ socket, isStapled }))
    socket.on('error', fail)
    if (limit.aborted) onAbort()
  })
}
