import { HIDDEN } from '../../../shared/hide-secrets.ts'
import type { Message, Part } from '../../calls/tasks/task.ts'
import { listSecretFields } from '../../kernel/declaration/secret-fields.ts'
import type { Skill } from '../../kernel/declaration/skill.ts'
import { invocationOf, type MessageInvocation } from './invocation.ts'

/** Returns a message as it may be stored; `operationId` is that of the task that it continues. */
export type HideMessage = (
  message: Message,
  metadata: Record<string, unknown>,
  operationId: string | undefined,
) => Message

/**
 * Hides the secrets in messages: the value of every field that is a secret of some skill, wherever a
 * part repeats it, and plain text that continues a task of a skill with secrets, because it may be
 * the answer to the question for one.
 */
export const createHideMessage = (skills: readonly Skill[]): HideMessage => {
  const withSecrets = skills.filter(({ input }) => listSecretFields(input).length > 0)
  const names = new Set(withSecrets.flatMap(({ input }) => listSecretFields(input)))
  const ids = new Set(withSecrets.map(({ id }) => id))

  return (message, metadata, operationId) => {
    if (names.size === 0) return message
    const { input, text } = readInvocation(message, metadata)
    const isAnswer = input === undefined && operationId !== undefined && ids.has(operationId)
    const values = Object.entries(input ?? {}).flatMap(([name, value]) =>
      names.has(name) ? String(value) : [],
    )
    if (isAnswer && text !== '') values.push(text)
    if (values.length === 0) return message
    return { ...message, parts: message.parts.map(part => hidePart(part, values)) }
  }
}

/** Content of a message; one that cannot be read is refused later. */
const readInvocation = (
  message: Message,
  metadata: Record<string, unknown>,
): Pick<MessageInvocation, 'input' | 'text'> => {
  try {
    return invocationOf(message, metadata)
  } catch {
    return { input: undefined, text: '' }
  }
}

const hidePart = (part: Part, values: readonly string[]): Part => {
  const { text, data } = part
  if (text !== undefined) return { ...part, text: hideText(text, values) }
  return data === undefined ? part : { ...part, data: hideValue(data, values) }
}

const hideText = (text: string, values: readonly string[]): string =>
  values
    .flatMap(value => [value, JSON.stringify(value).slice(1, -1)])
    .filter(value => value !== '')
    .reduce((hidden, value) => hidden.replaceAll(value, HIDDEN), text)

/** Bodies are parsed with a bound on their depth, which bounds this too. */
const hideValue = (value: unknown, values: readonly string[]): unknown => {
  if (typeof value === 'string') return hideText(value, values)
  if (typeof value === 'number') return values.includes(String(value)) ? HIDDEN : value
  if (Array.isArray(value)) return value.map(each => hideValue(each, values))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, hideValue(each, values)]),
  )
}
