import { hash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { isIP } from 'node:net'
import { connect, type DetailedPeerCertificate, type TLSSocket } from 'node:tls'
import { ShoalError } from '../shared/errors.ts'
import type { Asker } from './ask.ts'
import { unreachable } from './refusal.ts'

/**
 * The certificate authority with this fingerprint, as the coordinator shows it, PEM. Nothing is
 * said to the coordinator but hello: who trusts the answer must connect again, with it as the only
 * authority. Throws `forbidden` when the coordinator shows another one.
 */
export const fetchAuthority = async (
  { url, timeoutSeconds, signal }: Pick<Asker, 'url' | 'timeoutSeconds' | 'signal'>,
  fingerprint: string,
): Promise<string> => {
  const target = new URL(url)
  const chain = await chainOf(
    target,
    AbortSignal.any([signal, AbortSignal.timeout(timeoutSeconds * 1000)]),
  )
  const found = chain.find(der => hash('sha256', der, 'base64url') === fingerprint)
  if (found === undefined)
    throw new ShoalError(
      'forbidden',
      `${target.origin} is not the coordinator that made this token: its certificate is another one`,
    )
  return new X509Certificate(found).toString()
}

const HTTPS_PORT = 443

const chainOf = async (target: URL, signal: AbortSignal): Promise<Buffer[]> => {
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
    return certificates(socket)
  } catch (cause) {
    throw unreachable(target, cause)
  } finally {
    socket.destroy()
  }
}

/** A certificate that signed itself is its own issuer. */
const certificates = (socket: TLSSocket): Buffer[] => {
  const found: Buffer[] = []
  let next: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true)
  while (next?.raw !== undefined && !found.some(raw => raw.equals(next?.raw as Buffer))) {
    found.push(next.raw)
    next = next.issuerCertificate
  }
  return found
}
