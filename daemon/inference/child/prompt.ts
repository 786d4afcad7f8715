import type { Template } from '@huggingface/jinja'
import type { PlainCall, PlainMessage, PlainTool } from '../protocol.ts'
import { Marks, readLeadingSpace, readTrailingSpace } from './marks.ts'

/** A part of a prompt. Only template text may become special tokens, user text never. */
export interface Piece {
  text: string
  from: 'template' | 'message'
}

export interface TemplateVariables {
  bos_token: string
  eos_token: string
}

/**
 * Renders the model's own chat template.
 *
 * @param nonce unguessable and different for each prompt
 * @param tools tools offered to the template; none when absent
 * @throws any error of the template, for instance for roles that do not alternate
 */
export const renderPrompt = (
  template: Template,
  messages: readonly PlainMessage[],
  variables: TemplateVariables,
  nonce: string,
  tools?: readonly PlainTool[],
): Piece[] => {
  const marks = new Marks(nonce)
  const rendered = template.render({
    ...variables,
    messages: messages.map(message => templateMessage(message, marks)),
    ...(tools && { tools: tools.map(tool => ({ type: 'function', function: marks.json(tool) })) }),
    add_generation_prompt: true,
    // The engine does not split an answer into thoughts and text, so the template leaves thoughts out
    enable_thinking: false,
  })
  return splitAtMarks(marks.split(rendered), marks.texts)
}

/**
 * Message in the form that `apply_chat_template` of Hugging Face's transformers passes to
 * templates.
 */
const templateMessage = ({ role, text, calls, callId }: PlainMessage, marks: Marks) => ({
  role,
  content: marks.text(text),
  ...(calls && { tool_calls: calls.map(call => templateCall(call, marks)) }),
  ...(callId !== undefined && { tool_call_id: marks.json(callId) }),
})

const templateCall = ({ id, name, arguments: text }: PlainCall, marks: Marks) => ({
  id: marks.json(id),
  type: 'function',
  function: { name, arguments: marks.json(parseArguments(text)) },
})

/** Templates write arguments as JSON; broken ones stay the text they are. */
const parseArguments = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const splitAtMarks = (parts: readonly string[], texts: readonly string[]): Piece[] => {
  const pieces: Piece[] = []
  let template = parts[0] as string
  for (let at = 1; at < parts.length; at += 2) {
    const after = parts[at + 1] as string
    const content = absorbSpace(template, texts[Number(parts[at])] as string, after)
    pieces.push({ from: 'template', text: template.slice(0, template.length - content.left) })
    pieces.push({ from: 'message', text: content.text })
    template = after.slice(content.right)
  }
  pieces.push({ from: 'template', text: template })
  return pieces.filter(piece => piece.text !== '')
}

/** White space that the template has kept around a content is tokenised with the content. */
const absorbSpace = (
  before: string,
  text: string,
  after: string,
): { text: string; left: number; right: number } => {
  const leading = readLeadingSpace(text)
  const trailing = readTrailingSpace(text)
  const left = before.endsWith(leading) ? leading.length : 0
  const right = after.startsWith(trailing) ? trailing.length : 0
  return {
    text: text.slice(leading.length - left, text.length - trailing.length + right),
    left,
    right,
  }
}
