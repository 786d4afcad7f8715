import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import * as tls from 'node:tls'
import { ShoalError } from '../../shared/errors.ts'
import { fetchCertificates, findCertificate } from '../../shared/server-certificates.ts'

/** The text of a file of certificates. Throws `config_invalid`. */
export const readAuthorities = (file: string): string => {
  try {
    const text = readFileSync(file, 'utf8')
    certificatesOf(text)
    return text
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    throw new ShoalError('config_invalid', `${file} has no certificates (${code ?? message})`, {
      cause,
    })
  }
}

const PEM = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/** Throws when the text contains no certificate, or a damaged one. */
const certificatesOf = (text: string): string[] => {
  const found = text.match(PEM) ?? []
  if (found.length === 0) throw new Error('no PEM')
  for (const pem of found) new X509Certificate(pem)
  return found
}

/** Makes this process trust these authorities and no others. Throws `config_invalid`. */
export const trustOnly = (pem: string): void => {
  tls.setDefaultCACertificates(certificatesOf(pem))
}

/**
 * The authority with this fingerprint (SHA-256, base64url, as join tokens carry it) that the server
 * shows, PEM. Throws `forbidden` when the server shows another one.
 */
export const fetchPinnedAuthority = async (url: string, fingerprint: string): Promise<string> => {
  const target = new URL(url)
  if (target.protocol !== 'https:')
    throw new ShoalError('wrong_usage', '--pin is for an https address')
  const found = findCertificate(await fetchWithin(target), fingerprint)
  if (found !== undefined) return found
  throw new ShoalError('forbidden', `${target.origin} shows other certificates than the pinned one`)
}

/** Days until the certificate at this address expires; undefined when none is presented. */
export const daysLeft = async (url: string, now: number): Promise<number | undefined> => {
  const [own] = await fetchWithin(new URL(url)).catch(() => [])
  if (own === undefined) return undefined
  return (Date.parse(new X509Certificate(own).validTo) - now) / 86_400_000
}

const PATIENCE_MS = 5000

const fetchWithin = (target: URL): Promise<Buffer[]> =>
  fetchCertificates(target, AbortSignal.timeout(PATIENCE_MS)).catch((cause: unknown) => {
    const message = `no certificate is shown at ${target.origin}`
    throw new ShoalError('coordinator_unavailable', message, { cause })
  })
