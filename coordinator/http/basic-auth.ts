import { ShoalError } from '../../shared/errors.ts'

/** The cell and credential in an Authorization header (RFC 7617). Throws `auth_required`. */
export const basicAuth = (header: string | undefined): { cellId: string; credential: string } => {
  const encoded = /^Basic +([A-Za-z0-9+/=]{1,512})$/i.exec(header ?? '')?.[1]
  const text = Buffer.from(encoded ?? '', 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 0) throw new ShoalError('auth_required', 'send the cell id and its credential')
  return { cellId: text.slice(0, colon), credential: text.slice(colon + 1) }
}

/** One answer for a cell that does not exist, one that was revoked and a wrong credential. */
export const notThisCell = (): ShoalError =>
  new ShoalError('auth_required', 'the credential of the cell is not valid')
