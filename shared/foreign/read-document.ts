import { DocumentError, limitsOf, type Reading } from './document.ts'
import { DocumentThread } from './document-thread.ts'
import { findExcess } from './find-excess.ts'
import { parseDocument } from './parse-document.ts'

/**
 * Longest JSON that the calling thread parses itself: JSON.parse takes linear time, so that any text
 * of this length takes less than starting a thread and about as much as passing a document to it.
 * YAML, XML and readers have no such guarantee.
 */
const MAX_INLINE_BYTES = 64 * 1024

const thread = new DocumentThread()

/**
 * Reads a document that somebody else has written, with bounded bytes, values, depth, time and
 * memory, and without holding the event loop. All documents of a process are read by one thread.
 * @throws DocumentError, and the ShoalError of a reader
 */
export const readDocument = async (bytes: Uint8Array, reading: Reading): Promise<unknown> => {
  const limits = limitsOf(reading)
  if (bytes.length > limits.maxBytes)
    throw new DocumentError('excessive', `is larger than ${limits.maxBytes} bytes`)
  const isShort = bytes.length <= MAX_INLINE_BYTES
  if (!isShort || reading.format !== 'json' || reading.reader !== undefined)
    return thread.read(bytes, reading)
  const value = parseDocument(new TextDecoder().decode(bytes), reading)
  const excess = findExcess(value, limits)
  if (excess !== undefined) throw new DocumentError('excessive', excess)
  return value
}
