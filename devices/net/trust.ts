import { ShoalError } from '../../shared/errors.ts'
import type { LinkContext } from '../device-link.ts'
import type { TlsTrust } from './dial.ts'

/**
 * Compares the certificate of a peer with the expected one.
 * @param source place of the expected one, for the message
 * @throws ShoalError forbidden
 */
export const requireFingerprint = (
  peer: string,
  expected: string | undefined,
  shown: string,
  source: string,
): void => {
  if (expected === shown) return
  throw new ShoalError(
    'forbidden',
    `${peer} presents another certificate (SHA-256 ${shown}) than the one in ${source}; ` +
      'if its certificate was replaced, change it there, otherwise the address is not its own',
  )
}

/** Trust that the configuration of a peer asks for. */
export const createTrust = async (
  peer: string,
  { fingerprint, ca_file }: { fingerprint?: string; ca_file?: string },
  readSecret: LinkContext['readSecret'],
): Promise<TlsTrust> => {
  if (fingerprint === undefined)
    return ca_file === undefined ? {} : { ca: await readSecret(ca_file) }
  const source = 'the configuration'
  return { verifyFingerprint: shown => requireFingerprint(peer, fingerprint, shown, source) }
}
