import { DocumentError, type Reading } from '../../shared/foreign/document.ts'
import { readDocument } from '../../shared/foreign/read-document.ts'
import type { UpstreamRequest } from './client.ts'

type BodyForm = Pick<UpstreamRequest, 'form' | 'reading'>

/** Body that is not of the form that was asked for. The message repeats nothing of it. */
export class MalformedBody extends Error {
  override readonly name = 'MalformedBody'
}

/** Bodies that were read before: an answer in memory is parsed once for its reader. */
const known = new WeakMap<Buffer, { as: string; value: unknown }>()

/**
 * Reads a body of the form. A status alone says little: proxies and busy services answer 200 with a
 * page for people.
 * @throws MalformedBody
 */
export const readBody = async (
  form: BodyForm,
  contentType: string,
  body: Buffer,
): Promise<unknown> => {
  const as = JSON.stringify(form)
  const before = known.get(body)
  if (before?.as === as) return before.value
  requireForm(form.form, contentType, body)
  const value = await readAs({ format: form.form, ...form.reading }, body)
  known.set(body, { as, value })
  return value
}

/** The first characters tell one form from another; the rest is for the parser. */
const START_BYTES = 1024

const requireForm = (form: UpstreamRequest['form'], contentType: string, body: Buffer): void => {
  const start = body
    .toString('utf8', 0, START_BYTES)
    .replace(/^\uFEFF/, '')
    .trimStart()
  if (isPage(form, contentType, start)) throw new MalformedBody('it returned an HTML page')
  if (form === 'json' && !/^[[{]/.test(start)) throw new MalformedBody('it did not return JSON')
  if (form === 'xml' && !start.startsWith('<')) throw new MalformedBody('it did not return XML')
}

const isPage = (form: UpstreamRequest['form'], contentType: string, start: string): boolean => {
  if (/^<(!doctype\s+)?html\b/i.test(start)) return true
  if (form === 'xml') return false
  return /\bhtml\b/i.test(contentType) || (form !== 'text' && start.startsWith('<'))
}

const readAs = async (reading: Reading, body: Buffer): Promise<unknown> => {
  try {
    return await readDocument(body, reading)
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    throw new MalformedBody(messageOf(error), { cause: error })
  }
}

/** Parser messages often quote a part of the damaged answer, so they are not repeated. */
const messageOf = ({ fault, message }: DocumentError): string =>
  fault === 'damaged' ? 'its answer is cut off or damaged' : `its answer ${message}`
