import { createHash, type X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { TlsFacts } from './tls-facts.ts'

interface Handshake {
  host: string
  isStapled: boolean
  /** Unix milliseconds. */
  now: number
}

const DAY_MS = 86_400_000
const MAX_CHAIN = 16
const MAX_NAMES = 64
const MAX_TEXT = 256
/** DER of the extension id-pe-tlsfeature, 1.3.6.1.5.5.7.1.24 (RFC 7633, 6). */
const TLS_FEATURE = Buffer.from('06082b06010505070118', 'hex')

/** Reads the facts of a TLS connection. @throws Error when the server shows no certificate */
export const readTlsFacts = (socket: TLSSocket, { host, isStapled, now }: Handshake): TlsFacts => {
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) throw new Error('the server shows no certificate')
  return {
    protocol: socket.getProtocol() ?? 'unknown',
    cipher: socket.getCipher().standardName ?? socket.getCipher().name,
    alpn: socket.alpnProtocol || null,
    ...readNames(certificate),
    ...readValidity(certificate, now),
    ...readKey(certificate),
    serial: certificate.serialNumber.slice(0, 64),
    self_signed: isSelfSigned(certificate),
    hostname_match: matchesHost(certificate, host),
    chain_valid: socket.authorized,
    chain_error: socket.authorized ? null : String(socket.authorizationError).slice(0, 64),
    chain_length: countChain(certificate),
    sha256: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
    must_staple: certificate.raw.includes(TLS_FEATURE),
    ocsp_stapled: isStapled,
  }
}

type Part<K extends keyof TlsFacts> = Pick<TlsFacts, K>

const readNames = (
  certificate: X509Certificate,
): Part<'subject_cn' | 'san' | 'issuer_cn' | 'issuer_org'> => ({
  subject_cn: readAttribute(certificate.subject, 'CN'),
  san: readAlternativeNames(certificate.subjectAltName),
  issuer_cn: readAttribute(certificate.issuer, 'CN'),
  issuer_org: readAttribute(certificate.issuer, 'O'),
})

/** Node prints distinguished names with one attribute per line. */
const readAttribute = (name: string | undefined, attribute: string): string | null => {
  const line = name?.split('\n').find(each => each.startsWith(`${attribute}=`))
  return line?.slice(attribute.length + 1, MAX_TEXT) ?? null
}

const readAlternativeNames = (text: string | undefined): string[] =>
  (text ?? '')
    .split(', ')
    .flatMap(each => /^(?:DNS|IP Address):"?([^"]+)"?$/.exec(each)?.[1] ?? [])
    .slice(0, MAX_NAMES)
    .map(name => name.slice(0, MAX_TEXT))

const readValidity = (
  { validFromDate, validToDate }: X509Certificate,
  now: number,
): Part<'not_before' | 'not_after' | 'days_left' | 'expired'> => ({
  not_before: validFromDate.toISOString(),
  not_after: validToDate.toISOString(),
  days_left: Math.floor((validToDate.getTime() - now) / DAY_MS),
  expired: validToDate.getTime() <= now,
})

const KEY_TYPES = ['rsa', 'ec', 'ed25519', 'ed448'] as const
/** Sizes of curves by the names of OpenSSL (RFC 8422, 5.1.1). */
const CURVE_BITS: Readonly<Record<string, number>> = {
  prime256v1: 256,
  secp384r1: 384,
  secp521r1: 521,
  secp256k1: 256,
}

const readKey = (
  certificate: X509Certificate,
): Part<'key_type' | 'key_bits' | 'signature_algorithm' | 'spki_sha256'> => {
  const { publicKey, signatureAlgorithm } = certificate
  const { modulusLength, namedCurve = '' } = publicKey.asymmetricKeyDetails ?? {}
  const der = publicKey.export({ type: 'spki', format: 'der' })
  return {
    key_type: KEY_TYPES.find(each => each === publicKey.asymmetricKeyType) ?? 'other',
    key_bits: modulusLength ?? CURVE_BITS[namedCurve] ?? null,
    signature_algorithm: signatureAlgorithm?.slice(0, 64) ?? null,
    spki_sha256: createHash('sha256').update(der).digest('hex'),
  }
}

const isSelfSigned = (certificate: X509Certificate): boolean =>
  certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey)

/** Null for an address, when the certificate names no address at all. */
const matchesHost = (certificate: X509Certificate, host: string): boolean | null => {
  if (isIP(host) === 0) return certificate.checkHost(host) !== undefined
  if (certificate.subjectAltName?.includes('IP Address:') !== true) return null
  return certificate.checkIP(host) !== undefined
}

const countChain = (certificate: X509Certificate): number => {
  let length = 1
  let at = certificate
  while (length < MAX_CHAIN && at.issuerCertificate !== undefined) {
    if (at.issuerCertificate.fingerprint256 === at.fingerprint256) break
    at = at.issuerCertificate
    length++
  }
  return length
}
