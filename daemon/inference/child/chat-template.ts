import { Template } from '@huggingface/jinja'
import type { PlainMessage, PlainTool } from '../protocol.ts'
import { type CallShape, callShapeOf } from '../tool-syntax.ts'
import { type Piece, renderPrompt, type TemplateVariables } from './prompt.ts'
import { hasShortIds, shortenCallIds } from './short-call-ids.ts'
import { SPELLED_SHAPE, spellOutTools } from './spelled-tools.ts'
import { UnservableError } from './unservable-error.ts'

/** A prompt. */
export interface Rendered {
  pieces: Piece[]
  /** Form of calls in the prompt, and therefore in the answer. */
  callShape: CallShape
}

/** The chat template that a model carries (`tokenizer.chat_template`). */
export class ChatTemplate {
  readonly #template: Template
  readonly #variables: TemplateVariables
  /**
   * Form in which the template writes calls; undefined when it supports no tools or an unknown
   * form.
   */
  readonly callShape: CallShape | undefined

  /** @throws when the template cannot be parsed or cannot render one plain message */
  constructor(source: string, variables: TemplateVariables) {
    this.#template = new Template(source)
    this.#variables = variables
    renderPrompt(this.#template, TRIAL, variables, 'trial')
    const shape = callShapeOf(source)
    this.callShape = shape !== undefined && this.#showsTool(shape) ? shape : undefined
  }

  /** @throws UnservableError when the template does not take these roles in this order */
  render(
    messages: readonly PlainMessage[],
    nonce: string,
    tools: readonly PlainTool[] = [],
  ): Rendered {
    const usesTools =
      tools.length > 0 || messages.some(({ role, calls }) => role === 'tool' || calls)
    const merged = mergeLeadingSystem(messages)
    if (!usesTools) return { pieces: this.#render(merged, nonce), callShape: SPELLED_SHAPE }
    const { callShape } = this
    const pieces = callShape && this.#tryRender(merged, nonce, tools, callShape)
    if (callShape && pieces) return { pieces, callShape }
    return {
      pieces: this.#render(spellOutTools(merged, tools), nonce),
      callShape: SPELLED_SHAPE,
    }
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

  /** Renders the messages; undefined when the template does not take these messages with tools. */
  #tryRender(
    messages: readonly PlainMessage[],
    nonce: string,
    tools: readonly PlainTool[],
    shape: CallShape,
  ): Piece[] | undefined {
    try {
      const given = tools.length > 0 ? tools : undefined
      const named = hasShortIds(shape) ? shortenCallIds(messages) : messages
      return renderPrompt(this.#template, named, this.#variables, nonce, given)
    } catch {
      return undefined
    }
  }

  #showsTool(shape: CallShape): boolean {
    const tool = { name: 'trial_of_tools', description: '', parameters: { type: 'object' } }
    const pieces = this.#tryRender(TRIAL, 'trial', [tool], shape)
    return pieces?.some(({ text }) => text.includes(tool.name)) ?? false
  }
}

const TRIAL: readonly PlainMessage[] = [{ role: 'user', text: 'hello' }]

const refusal = (error: unknown): UnservableError =>
  new UnservableError(
    'invalid_request',
    `the model's chat template does not accept these messages: ${(error as Error).message}`,
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

/** Moves system text before the first user message, for templates without a system role. */
export const foldSystem = (
  messages: readonly PlainMessage[],
): readonly PlainMessage[] | undefined => {
  const [first, second, ...rest] = messages
  if (first?.role !== 'system' || second?.role !== 'user') return undefined
  return [{ role: 'user', text: `${first.text}\n\n${second.text}` }, ...rest]
}
