import { endWithParent } from '../../../shared/parent-watch.ts'
import type { PlainMessage, PlainTool } from '../protocol.ts'
import type { CallShape } from '../tool-syntax.ts'
import { ChatTemplate, type Rendered } from './chat-template.ts'
import type { TemplateVariables } from './prompt.ts'
import { UnservableError } from './unservable-error.ts'

/* Program of `template-process.ts`: renders the chat template of a model, which is foreign code. */

/** First message to the program. */
export interface TemplateData {
  source: string
  variables: TemplateVariables
  /** Longest prompt in characters that the context could hold. */
  maxCharacters: number
}

/** Asks for the facts of the template, or for a prompt. */
export type TemplateOrder =
  | { type: 'load' }
  | {
      type: 'render'
      messages: readonly PlainMessage[]
      nonce: string
      tools: readonly PlainTool[]
    }

export type TemplateAnswer =
  | { callShape: CallShape | undefined }
  | { rendered: Rendered }
  | { refusal: Pick<UnservableError, 'code' | 'message' | 'param'> }
  | { fault: string }

const createAnswerer = ({ source, variables, maxCharacters }: TemplateData) => {
  let template: ChatTemplate | undefined
  return (order: TemplateOrder): TemplateAnswer => {
    try {
      template ??= new ChatTemplate(source, variables)
      if (order.type === 'load') return { callShape: template.callShape }
      const rendered = template.render(order.messages, order.nonce, order.tools)
      return { rendered: requireShort(rendered, maxCharacters) }
    } catch (error) {
      if (!(error instanceof UnservableError)) return { fault: (error as Error).message }
      const { code, message, param } = error
      return { refusal: { code, message, param } }
    }
  }
}

/** A text that no context can hold is not worth its way to the tokenizer. */
const requireShort = (rendered: Rendered, maxCharacters: number): Rendered => {
  const characters = rendered.pieces.reduce((sum, { text }) => sum + text.length, 0)
  if (characters <= maxCharacters) return rendered
  throw new UnservableError(
    'context_length_exceeded',
    `the model's chat template produces a prompt of ${characters} characters, of which the context holds at most ${maxCharacters}`,
    'messages',
  )
}

const send = (message: TemplateAnswer | 'loaded'): void => void process.send?.(message)

process.once('message', (setup: TemplateData) => {
  const answer = createAnswerer(setup)
  process.on('message', (order: TemplateOrder) => send(answer(order)))
  send('loaded')
})
endWithParent()
