import type { PlainCall, PlainMessage, PlainTool } from '../protocol.ts'
import { CALL_BEGIN, CALL_END, type CallShape } from '../tool-syntax.ts'

export const SPELLED_SHAPE: CallShape = 'hermes'

/**
 * Tools, calls and their answers as plain text, for models whose chat template knows none. It is
 * the form of Nous Hermes 2 Pro and Qwen 2.5, which most models have met in training.
 */
export const spellOutTools = (
  messages: readonly PlainMessage[],
  tools: readonly PlainTool[],
): PlainMessage[] => {
  const spelled = joinAnswers(messages)
  if (tools.length === 0) return spelled
  const [first, ...rest] = spelled
  const text = instructions(tools)
  return first?.role === 'system'
    ? [{ role: 'system', text: `${first.text}\n\n${text}` }, ...rest]
    : [{ role: 'system', text }, ...spelled]
}

const instructions = (tools: readonly PlainTool[]): string =>
  [
    'You may call functions. Each is described by one line of JSON:',
    ...tools.map(tool => JSON.stringify(tool)),
    'To call one, write nothing but its name and its arguments as JSON, like this:',
    `${CALL_BEGIN}\n{"name": "the name", "arguments": {}}\n${CALL_END}`,
  ].join('\n')

/** Answers that follow each other become one message: many templates want the roles to alternate. */
const joinAnswers = (messages: readonly PlainMessage[]): PlainMessage[] => {
  const spelled: PlainMessage[] = []
  let before: PlainMessage['role'] | undefined
  for (const message of messages) {
    const { role, text, calls } = message
    const answer = `<tool_response>\n${text}\n</tool_response>`
    const last = spelled.at(-1)
    if (role === 'tool' && before === 'tool' && last !== undefined)
      spelled.splice(-1, 1, { ...last, text: `${last.text}\n${answer}` })
    else if (role === 'tool') spelled.push({ role: 'user', text: answer })
    else
      spelled.push({
        role,
        text: [text, ...(calls ?? []).map(callText)].filter(Boolean).join('\n'),
      })
    before = role
  }
  return spelled
}

const callText = ({ name, arguments: text }: PlainCall): string =>
  `${CALL_BEGIN}\n{"name": ${JSON.stringify(name)}, "arguments": ${text === '' ? '{}' : text}}\n${CALL_END}`
