import { hash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { isIP } from 'node:net'
import { connect, type DetailedPeerCertificate, type TLSSocket } from 'node:tls'

const HTTPS_PORT = 443

/**
 * The certificates that the server at this address shows, its own first, DER. Nothing but a hello
 * is said to it, and it is not believed: who trusts one of them connects again, with it as the only
 * authority. Throws what the connection throws, or the reason of the signal.
 */
export const shownCertificates = async (target: URL, signal: AbortSignal): Promise<Buffer[]> => {
  const host = target.hostname.replace(/^\[|\]$/g, '')
  const socket = connect({
    host,
    port: Number(target.port || HTTPS_PORT),
    // whoever answers is looked at, and not believed
    rejectUnauthorized: false,
    ...(isIP(host) === 0 && { servername: host }),
  })
  try {
    await once(socket, 'secureConnect', { signal })
    return chainOf(socket)
  } finally {
    socket.destroy()
  }
}

/** The one with this fingerprint (SHA-256, base64url, as join tokens carry it), PEM. */
export const certificateWith = (
  certificates: readonly Buffer[],
  fingerprint: string,
): string | undefined => {
  const found = certificates.find(der => hash('sha256', der, 'base64url') === fingerprint)
  return found && new X509Certificate(found).toString()
}

/** A certificate that signed itself is its own issuer. */
const chainOf = (socket: TLSSocket): Buffer[] => {
  const found: Buffer[] = []
  let next: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true)
  while (next?.raw !== undefined && !found.some(der => der.equals(next?.raw as Buffer))) {
    found.push(next.raw)
    next = next.issuerCertificate
  }
  return found
}
