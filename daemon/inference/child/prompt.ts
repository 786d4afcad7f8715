import type { Template } from '@huggingface/jinja'
import type { PlainMessage } from '../protocol.ts'

/** A part of a prompt. Only template text may become special tokens; what people wrote never. */
export interface Piece {
  text: string
  from: 'template' | 'message'
}

export interface TemplateVariables {
  bos_token: string
  eos_token: string
}

/**
 * Renders the model's own chat template. The contents are replaced by marks that nobody can guess
 * and put back afterwards, so that a `<|im_end|>` in a message stays text.
 *
 * @param nonce unguessable and new for each prompt
 * @throws what the template throws, for instance at roles that do not alternate
 */
export const renderPrompt = (
  template: Template,
  messages: readonly PlainMessage[],
  variables: TemplateVariables,
  nonce: string,
): Piece[] => {
  const texts = messages.map(message => message.text)
  const rendered = template.render({
    ...variables,
    messages: messages.map(({ role, text }, index) => ({
      role,
      content: markedContent(text, mark(nonce, index)),
    })),
    add_generation_prompt: true,
  })
  return splitAtMarks(rendered, nonce, texts)
}

const mark = (nonce: string, index: number): string => `{${nonce}:${index}}`

/** White space at both ends stays outside of the mark: many templates trim. */
const markedContent = (text: string, contentMark: string): string => {
  if (text.trim() === '') return text
  return leadingSpace(text) + contentMark + trailingSpace(text)
}

const leadingSpace = (text: string): string => text.slice(0, text.length - text.trimStart().length)
const trailingSpace = (text: string): string => text.slice(text.trimEnd().length)

const splitAtMarks = (rendered: string, nonce: string, texts: readonly string[]): Piece[] => {
  const parts = rendered.split(new RegExp(`\\{${nonce}:(\\d+)\\}`))
  const pieces: Piece[] = []
  let template = parts[0] as string
  for (let at = 1; at < parts.length; at += 2) {
    const after = parts[at + 1] as string
    const content = widened(template, texts[Number(parts[at])] as string, after)
    pieces.push({ from: 'template', text: template.slice(0, template.length - content.left) })
    pieces.push({ from: 'message', text: content.text })
    template = after.slice(content.right)
  }
  pieces.push({ from: 'template', text: template })
  return pieces.filter(piece => piece.text !== '')
}

/** White space that the template has kept around a content is tokenised with the content. */
const widened = (
  before: string,
  text: string,
  after: string,
): { text: string; left: number; right: number } => {
  const leading = leadingSpace(text)
  const trailing = trailingSpace(text)
  const left = before.endsWith(leading) ? leading.length : 0
  const right = after.startsWith(trailing) ? trailing.length : 0
  return {
    text: text.slice(leading.length - left, text.length - trailing.length + right),
    left,
    right,
  }
}
