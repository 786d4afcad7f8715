import { createPrivateKey, hash, type KeyObject, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { ShoalError } from '../../../shared/errors.ts'
import { readPrivate, replacePrivate } from '../../../shared/private-file.ts'
import { systemRuntime } from '../../../shared/runtime.ts'
import { DAY_MS } from '../../../shared/time.ts'
import type { Secrets } from '../secrets/secrets.ts'
import { canonicalAddress } from './address.ts'
import type { CertificateWithKey } from './certificate.ts'

/** The certificate that the listener presents, and what clients need to trust it. */
export interface ServerIdentity {
  /** Certificate chain, PEM. */
  cert: string
  /** Private key, PEM. */
  key: string
  /** SHA-256 digest of the authority's certificate, base64url; cells pin it. */
  fingerprint?: string
  /** Path of the authority's certificate, for clients that read a file. */
  caFile?: string
}

/** Cells pin the authority for life, so it outlives them. */
const AUTHORITY_DAYS = 20 * 365
const SERVER_DAYS = 90
/** A certificate with a smaller share of its validity left is renewed. */
const RENEW_BELOW = 1 / 3
/** Tolerance for clients whose clock is behind. */
const BACKDATE_MS = DAY_MS

/** Parts of the place where the certificates of a coordinator are kept. */
export interface CertificateParts {
  stateDir: string
  secrets: Pick<Secrets, 'ensure'>
}

/**
 * Returns the coordinator's own certificate for these names, signed by the authority that it shares
 * with the other coordinators of its store. Both are created when missing; the certificate is
 * renewed when it expires soon or the names have changed. It is kept in the state folder, as is the
 * public certificate of the authority.
 */
export const loadOwnCertificate = async (
  { stateDir, secrets }: CertificateParts,
  names: readonly string[],
  now: number = systemRuntime.now(),
): Promise<ServerIdentity> => {
  const folder = join(stateDir, 'tls')
  const authority = await loadAuthority(secrets, now)
  const caFile = join(folder, 'ca.crt')
  const ca = authority.certificate.toString()
  if ((await readPrivate(caFile)) !== ca) await replacePrivate(caFile, ca)
  const server = await loadServer(folder, authority, names, now)
  const fingerprint = hash('sha256', authority.certificate.raw, 'base64url')
  return { key: server.key, cert: server.cert + ca, fingerprint, caFile }
}

const loadAuthority = async (
  secrets: Pick<Secrets, 'ensure'>,
  now: number,
): Promise<CertificateWithKey> => {
  const text = await secrets.ensure('authority', () => createAuthority(now))
  try {
    return { certificate: new X509Certificate(text), key: createPrivateKey(text) }
  } catch (cause) {
    throw new ShoalError(
      'store_unavailable',
      'the certificate authority in the store is damaged; restore the store',
      { cause },
    )
  }
}

const createAuthority = async (now: number): Promise<string> => {
  const { issueAuthority } = await import('./certificate.ts')
  const issued = await issueAuthority('shoal', validityFrom(now, AUTHORITY_DAYS))
  return encodeKey(issued.key) + issued.certificate.toString()
}

const loadServer = async (
  folder: string,
  authority: CertificateWithKey,
  names: readonly string[],
  now: number,
): Promise<{ cert: string; key: string }> => {
  const path = join(folder, 'server.pem')
  const kept = splitPem(await readPrivate(path))
  if (kept !== undefined && isUsable(kept.cert, authority, names, now)) return kept
  const { issueServerCertificate } = await import('./certificate.ts')
  const issued = await issueServerCertificate(authority, names, validityFrom(now, SERVER_DAYS))
  const made = { key: encodeKey(issued.key), cert: issued.certificate.toString() }
  await replacePrivate(path, made.key + made.cert)
  return made
}

const validityFrom = (now: number, days: number) => ({
  from: now - BACKDATE_MS,
  to: now + days * DAY_MS,
})

const splitPem = (text: string | undefined): { cert: string; key: string } | undefined => {
  const [, key, cert] = /^(-----BEGIN PRIVATE.*-----\n)(-----BEGIN CERT.*)$/s.exec(text ?? '') ?? []
  return key === undefined || cert === undefined ? undefined : { key, cert }
}

/** False for a damaged certificate too: clients pin the authority, so it can be replaced. */
const isUsable = (
  cert: string,
  authority: CertificateWithKey,
  names: readonly string[],
  now: number,
): boolean => {
  try {
    const certificate = new X509Certificate(cert)
    const leftMs = Date.parse(certificate.validTo) - now
    return (
      certificate.checkIssued(authority.certificate) &&
      certificate.verify(authority.certificate.publicKey) &&
      Date.parse(certificate.validFrom) <= now &&
      leftMs > SERVER_DAYS * DAY_MS * RENEW_BELOW &&
      names.every(name => isValidFor(certificate, name))
    )
  } catch {
    return false
  }
}

const isValidFor = (certificate: X509Certificate, name: string): boolean =>
  (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(canonicalAddress(name))) !==
  undefined

const encodeKey = (key: KeyObject): string =>
  key.export({ type: 'pkcs8', format: 'pem' }).toString()
