import * as z from 'zod'
import { ShoalError } from '../errors.ts'
import { endWithParent } from '../parent-watch.ts'
import { DocumentError, limitsOf, type Reading } from './document.ts'
import { findExcess } from './find-excess.ts'
import { findJsonExcess } from './find-json-excess.ts'
import { parseDocument } from './parse-document.ts'

/* Program of `document-process.ts`: reads one document after another. */

export interface DocumentOrder {
  bytes: Uint8Array
  reading: Reading
}

/** Answer of the program; `refusal` is an error that a reader threw for the client. */
export type DocumentAnswer =
  | { value: unknown }
  | { fault: DocumentError['fault']; message: string }
  | { refusal: Pick<ShoalError, 'code' | 'message' | 'param'> }

const read = async ({ bytes, reading }: DocumentOrder): Promise<unknown> => {
  const { format, reader } = reading
  const tooMany = format === 'json' ? findJsonExcess(bytes) : undefined
  if (tooMany !== undefined) throw new DocumentError('excessive', tooMany)
  const document = parseDocument(new TextDecoder().decode(bytes), reading)
  const value = reader === undefined ? document : await applyReader(document, reader)
  const excess = findExcess(value, limitsOf(reading))
  if (excess !== undefined) throw new DocumentError('excessive', excess)
  return value
}

const applyReader = async (
  document: unknown,
  { module, name, input }: NonNullable<Reading['reader']>,
): Promise<unknown> => {
  const functions = (await import(module)) as Record<string, (...values: unknown[]) => unknown>
  return functions[name]?.(document, input)
}

const toFault = (error: unknown): DocumentAnswer => {
  if (error instanceof DocumentError) return { fault: error.fault, message: error.message }
  if (error instanceof ShoalError) {
    const { code, message, param } = error
    return { refusal: { code, message, param } }
  }
  if (error instanceof z.ZodError) {
    const fields = error.issues.slice(0, 3).map(({ path }) => path.join('.'))
    return { fault: 'misshapen', message: `lacks ${fields.join(', ')}` }
  }
  // a time outside the range of dates (ECMA-262, 21.4.1.1), or a value deeper than the stack
  if (error instanceof RangeError) return { fault: 'misshapen', message: 'has values out of range' }
  return { fault: 'misshapen', message: `is not what its reader expects (${nameOf(error)})` }
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'no error')

const answer = (message: DocumentAnswer | 'ready'): void => void process.send?.(message)

process.on('message', (order: DocumentOrder) => {
  read(order).then(
    value => answer({ value }),
    error => answer(toFault(error)),
  )
})
endWithParent()
answer('ready')
