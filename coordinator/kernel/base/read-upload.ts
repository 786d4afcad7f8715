import { ShoalError } from '../../../shared/errors.ts'
import { DocumentError, type Reading } from '../../../shared/foreign/document.ts'
import { readDocument } from '../../../shared/foreign/read-document.ts'

const RETRY_SECONDS = 10

/**
 * Reads a document that a client has sent in the field `param`. Throws `invalid_request` for one that
 * is damaged or exceeds its bounds, and `rate_limited` when too many others wait.
 */
export const readUpload = async (
  text: string,
  param: string,
  reading: Reading,
): Promise<unknown> => {
  try {
    return await readDocument(Buffer.from(text), reading)
  } catch (cause) {
    if (!(cause instanceof DocumentError)) throw cause
    if (cause.fault !== 'busy')
      throw new ShoalError('invalid_request', `${param}: it ${cause.message}`, { param, cause })
    const retryAfterSeconds = RETRY_SECONDS
    throw new ShoalError('rate_limited', `the document ${cause.message}`, { retryAfterSeconds })
  }
}
