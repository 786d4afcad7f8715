import { hash, type X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { ShoalError } from '../../shared/errors.ts'
import type { LinkContext } from '../device-link.ts'

/**
 * How the certificate of a device or broker is verified: by an authority (those of the system when
 * `ca` is absent), or by its fingerprint, which `verifyFingerprint` accepts or refuses by throwing. The
 * common name is what the certificate claims about itself; empty without one.
 */
export type TlsTrust =
  | { ca?: string | undefined }
  | { verifyFingerprint: (fingerprint: string, commonName: string) => Promise<void> | void }

interface DialTarget {
  host: string
  port: number
  /** Absent for a plain connection. */
  tls?: TlsTrust | undefined
}

const DIAL_TIMEOUT_MS = 10_000

/** SHA-256 of a certificate, 64 hexadecimal digits in lower case. */
export const FINGERPRINT = /^[0-9a-f]{64}$/

/** Reads a fingerprint as `openssl x509 -fingerprint -sha256` prints it, too. */
export const normalizeFingerprint = (text: string): string => text.replaceAll(':', '').toLowerCase()

/**
 * Connects to a host that is in the scope of the cell. The peer is verified before this resolves, so
 * that no credential is sent to another one.
 * @throws ShoalError scope_denied or forbidden; the error of the connection otherwise
 */
export const dial = async (
  { host, port, tls }: DialTarget,
  resolveHost: LinkContext['resolveHost'],
  ends: AbortSignal,
): Promise<Socket> => {
  const address = await resolveHost(host, port)
  const signal = AbortSignal.any([ends, AbortSignal.timeout(DIAL_TIMEOUT_MS)])
  const socket = tls
    ? connectTls({
        host: address,
        port,
        ...(isIP(host) === 0 && { servername: host }),
        ...('verifyFingerprint' in tls
          ? { rejectUnauthorized: false }
          : tls.ca !== undefined && { ca: tls.ca }),
      })
    : connectTcp({ host: address, port })
  try {
    await once(socket, tls ? 'secureConnect' : 'connect', { signal })
    if (tls && 'verifyFingerprint' in tls)
      await verifyShown(socket as TLSSocket, tls.verifyFingerprint)
  } catch (error) {
    socket.destroy()
    throw signal.aborted && !ends.aborted ? createLateError(host, port) : error
  }
  return socket.setNoDelay(true)
}

const verifyShown = async (
  socket: TLSSocket,
  verify: (fingerprint: string, commonName: string) => Promise<void> | void,
): Promise<void> => {
  const certificate: X509Certificate | undefined = socket.getPeerX509Certificate()
  if (certificate === undefined)
    throw new ShoalError('forbidden', 'the peer presents no certificate')
  const { CN = '' } = certificate.toLegacyObject().subject
  await verify(hash('sha256', certificate.raw), `${CN}`)
}

const createLateError = (host: string, port: number): Error =>
  new Error(`${host}:${port} did not answer within ${DIAL_TIMEOUT_MS / 1000} s`)
