import { ContentTypeNotSupportedError, RequestMalformedError } from '@a2a-js/sdk/errors'
import type { Message } from '../../calls/tasks/task.ts'
import { parseJsonBody } from '../http/json-body.ts'

/** Content of a message; `skill` is undefined unless the message names it explicitly. */
export interface MessageInvocation {
  skill: string | undefined
  /** Input for the skill; undefined if the message has none. */
  input: Record<string, unknown> | undefined
  /** Text of the message, or an empty string. */
  text: string
  /** The cell to run on. */
  cell: string | undefined
}

type Fields = Record<string, unknown>

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Reads a message. In this order: a data part with `skill` and `input`; `skill` in the metadata
 * with a data part, or text that is JSON, as the input; `skill-id {json}`; any other text.
 * Throws for parts that no skill takes and for text that should be JSON and is not.
 */
export const invocationOf = (message: Message, metadata: Fields = {}): MessageInvocation => {
  const { text, data } = contentOf(message)
  const meta: Fields = { ...metadata, ...message.metadata }
  const cell = textField(meta, ['cell'])
  const named = textField(meta, ['skill', 'skillId', 'skill_id'])
  const called = data.find(part => typeof part.skill === 'string')
  if (called !== undefined)
    return { skill: called.skill as string, input: inputField(called.input), text, cell }
  const [first] = data
  if (named !== undefined) return { skill: named, input: first ?? inputText(text), text, cell }
  const line = /^([a-z][a-z0-9_-]*)\s*(\{[\s\S]*\})?$/.exec(text.trim())
  if (first === undefined && line?.[1] !== undefined && (line[2] || isId(line[1])))
    return { skill: line[1], input: inputText(line[2] ?? ''), text, cell }
  return { skill: undefined, input: first ?? jsonText(text), text, cell }
}

/** One word alone is a skill's id only when it looks like one. */
const isId = (word: string): boolean => /[-_]/.test(word)

const contentOf = ({ parts }: Message): { text: string; data: Fields[] } => {
  const texts: string[] = []
  const data: Fields[] = []
  for (const part of parts)
    if (part.text !== undefined) texts.push(part.text)
    else if (isObject(part.data)) data.push(part.data)
    else
      throw new ContentTypeNotSupportedError(
        'skills take text and data parts; data must be an object',
      )
  return { text: texts.join('\n'), data }
}

const textField = (fields: Fields, names: string[]): string | undefined => {
  const name = names.find(each => fields[each] !== undefined)
  const value = name === undefined ? undefined : fields[name]
  if (value === undefined || typeof value === 'string') return value
  throw new RequestMalformedError(`metadata.${name} must be a string`)
}

const inputField = (value: unknown): Fields => {
  if (value === undefined || isObject(value)) return value ?? {}
  throw new RequestMalformedError('input must be an object')
}

const inputText = (text: string): Fields => {
  if (text.trim() === '') return {}
  const value = jsonText(text)
  if (value === undefined) throw new RequestMalformedError('the input is not a JSON object')
  return value
}

/** JSON inside a text has the bounds of a body. */
const jsonText = (text: string): Fields | undefined => {
  if (!text.trim().startsWith('{')) return undefined
  try {
    const value = parseJsonBody(Buffer.from(text))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
