import { Template } from '@huggingface/jinja'
import type { PlainMessage, PlainTool } from '../protocol.ts'
import { CALL_BEGIN } from '../tool-syntax.ts'
import { type Piece, renderPrompt, type TemplateVariables } from './prompt.ts'
import { Refusal } from './refusal.ts'
import { spellOutTools } from './spelled-tools.ts'

/** The chat template that a model carries (`tokenizer.chat_template`). */
export class ChatTemplate {
  readonly #template: Template
  readonly #variables: TemplateVariables
  /** The template writes tools, and calls in the form that is looked for in answers. */
  readonly knowsTools: boolean

  /** @throws when the template cannot be parsed or cannot render one plain message */
  constructor(source: string, variables: TemplateVariables) {
    this.#template = new Template(source)
    this.#variables = variables
    renderPrompt(this.#template, TRIAL, variables, 'trial')
    this.knowsTools = source.includes(CALL_BEGIN) && this.#showsTool()
  }

  /** @throws Refusal when the template does not take these roles in this order */
  render(
    messages: readonly PlainMessage[],
    nonce: string,
    tools: readonly PlainTool[] = [],
  ): Piece[] {
    const usesTools =
      tools.length > 0 || messages.some(({ role, calls }) => role === 'tool' || calls)
    const merged = mergeLeadingSystem(messages)
    if (!usesTools) return this.#render(merged, nonce)
    const native = this.knowsTools ? this.#tryRender(merged, nonce, tools) : undefined
    return native ?? this.#render(spellOutTools(merged, tools), nonce)
  }

  #render(messages: readonly PlainMessage[], nonce: string): Piece[] {
    try {
      return renderPrompt(this.#template, messages, this.#variables, nonce)
    } catch (error) {
      const folded = foldSystem(messages)
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

  /** Undefined when the template does not take these messages with tools. */
  #tryRender(
    messages: readonly PlainMessage[],
    nonce: string,
    tools: readonly PlainTool[],
  ): Piece[] | undefined {
    try {
      const given = tools.length > 0 ? tools : undefined
      return renderPrompt(this.#template, messages, this.#variables, nonce, given)
    } catch {
      return undefined
    }
  }

  #showsTool(): boolean {
    const tool = { name: 'trial_of_tools', description: '', parameters: { type: 'object' } }
    const pieces = this.#tryRender(TRIAL, 'trial', [tool])
    return pieces?.some(({ text }) => text.includes(tool.name)) ?? false
  }
}

const TRIAL: readonly PlainMessage[] = [{ role: 'user', text: 'hello' }]

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
