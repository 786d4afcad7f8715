import { parse as parseYaml } from 'yaml'
import type { UpstreamRequest } from './client.ts'

type Form = UpstreamRequest['form']

/** Body that is not of the form that was asked for. The message repeats nothing of it. */
export class MalformedBody extends Error {
  override readonly name = 'MalformedBody'
}

/** Bodies that were read before: an answer in memory is parsed once. */
const known = new WeakMap<Buffer, { form: Form; value: unknown }>()

/**
 * Reads a body of the form. A status alone says little: proxies and busy services answer 200 with a
 * page for people.
 * @throws MalformedBody
 */
export const readBody = (form: Form, contentType: string, body: Buffer): unknown => {
  const before = known.get(body)
  if (before?.form === form) return before.value
  const value = readText(form, contentType, body)
  known.set(body, { form, value })
  return value
}

const readText = (form: Form, contentType: string, body: Buffer): unknown => {
  const text = body.toString('utf8').replace(/^\uFEFF/, '')
  if (isPage(form, contentType, text)) throw new MalformedBody('it answered a page for people')
  if (form === 'json') return parseJson(text)
  if (form === 'yaml') return parseWith(parseYaml, text)
  if (form === 'xml' && !text.trimStart().startsWith('<'))
    throw new MalformedBody('it answered no XML')
  return text
}

const isPage = (form: Form, contentType: string, text: string): boolean => {
  const start = text.slice(0, 1024).trimStart()
  if (/^<(!doctype\s+)?html\b/i.test(start)) return true
  if (form === 'xml') return false
  return /\bhtml\b/i.test(contentType) || (form !== 'text' && start.startsWith('<'))
}

const parseJson = (text: string): unknown => {
  if (!/^\s*[[{]/.test(text)) throw new MalformedBody('it answered no JSON')
  return parseWith(JSON.parse, text)
}

const parseWith = (parse: (text: string) => unknown, text: string): unknown => {
  try {
    return parse(text)
  } catch {
    throw new MalformedBody('its answer is cut off or damaged')
  }
}
