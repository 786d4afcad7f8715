import { hash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { isIP } from 'node:net'
import { connect, type DetailedPeerCertificate, type TLSSocket } from 'node:tls'

const HTTPS_PORT = 443

/**
 * Certificates that the server at this address presents, its own first, DER. Only the TLS handshake
 * is made, and nothing is trusted: a caller who trusts one of them connects again with it as the
 * only authority. Throws the connection's error, or the reason of the signal.
 */
export const fetchCertificates = async (target: URL, signal: AbortSignal): Promise<Buffer[]> => {
  const host = target.hostname.replace(/^\[|\]$/g, '')
  const socket = connect({
    host,
    port: Number(target.port || HTTPS_PORT),
    // the certificate is inspected, not trusted
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

/** Certificate with this fingerprint (SHA-256, base64url, as in join tokens), PEM. */
export const findCertificate = (
  certificates: readonly Buffer[],
  fingerprint: string,
): string | undefined => {
  const found = certificates.find(der => hash('sha256', der, 'base64url') === fingerprint)
  return found && new X509Certificate(found).toString()
}

/** Walks the chain up to a self-signed certificate, which is its own issuer. */
const chainOf = (socket: TLSSocket): Buffer[] => {
  const found: Buffer[] = []
  let next: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true)
  while (next?.raw !== undefined && !found.some(der => der.equals(next?.raw as Buffer))) {
    found.push(next.raw)
    next = next.issuerCertificate
  }
  return found
}
