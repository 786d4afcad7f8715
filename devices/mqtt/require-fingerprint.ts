import { ShoalError } from '../../shared/errors.ts'

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
