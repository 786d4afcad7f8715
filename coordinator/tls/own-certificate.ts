import { createPrivateKey, hash, type KeyObject, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { ShoalError } from '../../shared/errors.ts'
import { createPrivate, readPrivate, replacePrivate } from '../../shared/private-file.ts'
import { DAY_MS } from '../../shared/time.ts'
import { type Authority, certify, newAuthority, pemOf } from './certificate.ts'
import { plainAddress } from './der.ts'

/** What the listener shows, and what those who trust it must know. */
export interface ServerIdentity {
  /** Certificate chain, PEM. */
  cert: string
  /** Private key, PEM. */
  key: string
  /** SHA-256 of the authority's certificate, base64url; cells pin it. */
  fingerprint?: string
  /** The authority's certificate, for clients that take a file. */
  caFile?: string
}

/** Cells pin the authority for good, so it outlives them. */
const AUTHORITY_DAYS = 20 * 365
const SERVER_DAYS = 90
/** With less of its life left the certificate is made anew. */
const RENEW_BELOW = 1 / 3
/** For clocks that are behind. */
const BACKDATE_MS = DAY_MS

/**
 * The coordinator's own certificate for these names, signed by its own authority. Both are made
 * when they are not there; the certificate again when it ends soon or the names have changed. Kept
 * in the state folder, readable by their owner alone.
 */
export const ownCertificate = async (
  stateDir: string,
  names: readonly string[],
  now: number = Date.now(),
): Promise<ServerIdentity> => {
  const folder = join(stateDir, 'tls')
  const authority = await authorityIn(folder, now)
  const caFile = join(folder, 'ca.crt')
  const ca = pemOf(authority.certificate)
  if ((await readPrivate(caFile)) !== ca) await replacePrivate(caFile, ca)
  const server = await serverIn(folder, authority, names, now)
  return { ...server, cert: server.cert + ca, fingerprint: fingerprintOf(ca), caFile }
}

const fingerprintOf = (certificate: string): string =>
  hash('sha256', new X509Certificate(certificate).raw, 'base64url')

const authorityIn = async (folder: string, now: number): Promise<Authority> => {
  const path = join(folder, 'authority.pem')
  const text = (await readPrivate(path)) ?? (await makeAuthority(path, now))
  try {
    const certificate = new X509Certificate(text)
    const name = certificate.subject.replace(/^CN=/, '')
    return { name, key: createPrivateKey(text), certificate: certificate.raw }
  } catch (cause) {
    throw new ShoalError('store_unavailable', `${path} is damaged; restore it`, { cause })
  }
}

const makeAuthority = async (path: string, now: number): Promise<string> => {
  const life = { from: now - BACKDATE_MS, to: now + AUTHORITY_DAYS * DAY_MS }
  const { key, certificate } = newAuthority('shoal', life)
  const text = privatePem(key) + pemOf(certificate)
  return (await createPrivate(path, text)) ? text : ((await readPrivate(path)) ?? '')
}

const serverIn = async (
  folder: string,
  authority: Authority,
  names: readonly string[],
  now: number,
): Promise<{ cert: string; key: string }> => {
  const path = join(folder, 'server.pem')
  const kept = split(await readPrivate(path))
  if (kept !== undefined && isGood(kept.cert, authority, names, now)) return kept
  const life = { from: now - BACKDATE_MS, to: now + SERVER_DAYS * DAY_MS }
  const { key, certificate } = certify(authority, names, life)
  const made = { key: privatePem(key), cert: pemOf(certificate) }
  await replacePrivate(path, made.key + made.cert)
  return made
}

const split = (text: string | undefined): { cert: string; key: string } | undefined => {
  const [, key, cert] = /^(-----BEGIN PRIVATE.*-----\n)(-----BEGIN CERT.*)$/s.exec(text ?? '') ?? []
  return key === undefined || cert === undefined ? undefined : { key, cert }
}

/** What cannot be read is made anew: nobody has pinned it. */
const isGood = (
  cert: string,
  authority: Authority,
  names: readonly string[],
  now: number,
): boolean => {
  try {
    const certificate = new X509Certificate(cert)
    const issuer = new X509Certificate(authority.certificate)
    const leftMs = Date.parse(certificate.validTo) - now
    return (
      certificate.checkIssued(issuer) &&
      certificate.verify(issuer.publicKey) &&
      Date.parse(certificate.validFrom) <= now &&
      leftMs > SERVER_DAYS * DAY_MS * RENEW_BELOW &&
      names.every(name => isFor(certificate, name))
    )
  } catch {
    return false
  }
}

const isFor = (certificate: X509Certificate, name: string): boolean =>
  (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(plainAddress(name))) !==
  undefined

const privatePem = (key: KeyObject): string =>
  key.export({ type: 'pkcs8', format: 'pem' }).toString()
