import { Template } from '@huggingface/jinja'
import type { PlainMessage } from '../protocol.ts'
import { type Piece, renderPrompt, type TemplateVariables } from './prompt.ts'
import { Refusal } from './refusal.ts'

/** The chat template that a model carries (`tokenizer.chat_template`). */
export class ChatTemplate {
  readonly #template: Template
  readonly #variables: TemplateVariables

  /** @throws when the template cannot be parsed or cannot render one plain message */
  constructor(source: string, variables: TemplateVariables) {
    this.#template = new Template(source)
    this.#variables = variables
    renderPrompt(this.#template, [{ role: 'user', text: 'hello' }], variables, 'trial')
  }

  /** @throws Refusal when the template does not take these roles in this order */
  render(messages: readonly PlainMessage[], nonce: string): Piece[] {
    const merged = mergeLeadingSystem(messages)
    try {
      return renderPrompt(this.#template, merged, this.#variables, nonce)
    } catch (error) {
      const folded = foldSystem(merged)
      if (folded === undefined) throw refusal(error)
      return this.#renderFolded(folded, nonce)
    }
  }

  #renderFolded(messages: readonly PlainMessage[], nonce: string): Piece[] {
    try {
      return renderPrompt(this.#template, messages, this.#variables, nonce)
    } catch (error) {
      throw refusal(error)
    }
  }
}

const refusal = (error: unknown): Refusal =>
  new Refusal(
    'invalid_request',
    `the model's chat template does not take these messages: ${(error as Error).message}`,
    'messages',
  )

/** Several system messages at the start become one: many templates take only one. */
export const mergeLeadingSystem = (messages: readonly PlainMessage[]): readonly PlainMessage[] => {
  const end = messages.findIndex(message => message.role !== 'system')
  const count = end === -1 ? messages.length : end
  if (count < 2) return messages
  const text = messages
    .slice(0, count)
    .map(message => message.text)
    .join('\n\n')
  return [{ role: 'system', text }, ...messages.slice(count)]
}

/** For templates that know no system role: its text goes before the first user message. */
export const foldSystem = (
  messages: readonly PlainMessage[],
): readonly PlainMessage[] | undefined => {
  const [first, second, ...rest] = messages
  if (first?.role !== 'system' || second?.role !== 'user') return undefined
  return [{ role: 'user', text: `${first.text}\n\n${second.text}` }, ...rest]
}
