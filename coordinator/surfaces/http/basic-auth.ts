import { ShoalError } from '../../../shared/errors.ts'

/** The cell and credential in an Authorization header (RFC 7617). Throws `auth_required`. */
export const basicAuth = (header: string | undefined): { cellId: string; credential: string } => {
  const encoded = /^Basic +([A-Za-z0-9+/=]{1,512})$/i.exec(header ?? '')?.[1]
  const bytes = Buffer.from(encoded ?? '', 'base64')
  const colon = bytes.indexOf(':')
  if (colon < 0) throw new ShoalError('auth_required', 'send the cell id and its credential')
  // two texts: parts of one would keep the credential in memory as long as the id is
  return { cellId: bytes.toString('utf8', 0, colon), credential: bytes.toString('utf8', colon + 1) }
}

/** One answer for a cell that does not exist, one that was revoked and a wrong credential. */
export const createCredentialError = (): ShoalError =>
  new ShoalError('auth_required', 'the credential of the cell is not valid')
