import { ShoalError } from '../shared/errors.ts'
import { fetchCertificates, findCertificate } from '../shared/server-certificates.ts'
import type { CoordinatorAccess } from './ask.ts'
import { createUnreachableError } from './refusal.ts'

/**
 * The certificate authority with this fingerprint, as the coordinator shows it, PEM. Nothing is
 * said to the coordinator but hello: who trusts the answer must connect again, with it as the only
 * authority. Throws `forbidden` when the coordinator shows another one.
 */
export const fetchAuthority = async (
  { url, timeoutSeconds, signal }: Pick<CoordinatorAccess, 'url' | 'timeoutSeconds' | 'signal'>,
  fingerprint: string,
): Promise<string> => {
  const target = new URL(url)
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(timeoutSeconds * 1000)])
  const shown = await fetchCertificates(target, inTime).catch(cause => {
    throw createUnreachableError(target, cause)
  })
  const found = findCertificate(shown, fingerprint)
  if (found !== undefined) return found
  throw new ShoalError(
    'forbidden',
    `${target.origin} is not the coordinator that made this token: its certificate is a different one`,
  )
}
