import { DocumentError, limitsOf, type Reading } from './document.ts'
import { DocumentProcess } from './document-process.ts'
import { findExcess } from './find-excess.ts'
import { parseDocument } from './parse-document.ts'

/**
 * Longest JSON that the calling process parses itself: JSON.parse takes linear time, so that any text
 * of this length takes less than starting a process and about as much as passing a document to it.
 * YAML, XML and readers have no such guarantee.
 */
const MAX_INLINE_BYTES = 64 * 1024

const reader = new DocumentProcess()

/**
 * Reads a document that somebody else has written, with bounded bytes, values, depth, time and
 * memory, and without holding the event loop. One child process reads all documents of a process.
 * @throws DocumentError, and the ShoalError of a reader
 */
export const readDocument = async (bytes: Uint8Array, reading: Reading): Promise<unknown> => {
  const limits = limitsOf(reading)
  if (bytes.length > limits.maxBytes)
    throw new DocumentError('excessive', `is larger than ${limits.maxBytes} bytes`)
  const isShort = bytes.length <= MAX_INLINE_BYTES
  if (!isShort || reading.format !== 'json' || reading.reader !== undefined)
    return reader.read(bytes, reading)
  const value = parseDocument(new TextDecoder().decode(bytes), reading)
  const excess = findExcess(value, limits)
  if (excess !== undefined) throw new DocumentError('excessive', excess)
  return value
}
