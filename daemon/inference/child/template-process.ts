import { BoundedProcess } from '../../../shared/bounded-process.ts'
import type { PlainMessage, PlainTool } from '../protocol.ts'
import type { Rendered } from './chat-template.ts'
import type { TemplateAnswer, TemplateData, TemplateOrder } from './template-program.ts'
import { UnservableError } from './unservable-error.ts'

const FILE = new URL('template-program.ts', import.meta.url)

/** Bounds of one rendering, far above what a template needs: a long conversation takes milliseconds. */
const TEMPLATE_LIMITS = { heapMb: 128, maxSeconds: 5 }

/**
 * The chat template of a model in a process of its own: weights may come from anybody, and a template
 * is a program that may loop or fill the memory. The process stays, so that a prompt waits for none.
 */
export class TemplateProcess {
  readonly #limits: typeof TEMPLATE_LIMITS
  readonly #process: BoundedProcess<TemplateOrder, TemplateAnswer>

  private constructor(data: TemplateData, limits: typeof TEMPLATE_LIMITS) {
    this.#limits = limits
    this.#process = new BoundedProcess({ file: FILE, heapMb: limits.heapMb, setup: data })
  }

  /** @throws when the template cannot be parsed, or cannot render one plain message within its bounds */
  static async open(
    data: TemplateData,
    limits: typeof TEMPLATE_LIMITS = TEMPLATE_LIMITS,
  ): Promise<TemplateProcess> {
    const opened = new TemplateProcess(data, limits)
    const answer = await opened.#ask({ type: 'load' })
    if (answer === undefined) throw new Error(opened.#describeExcess())
    if ('fault' in answer) throw new Error(answer.fault)
    return opened
  }

  /** @throws UnservableError when the template does not take these messages within its bounds */
  async render(
    messages: readonly PlainMessage[],
    nonce: string,
    tools: readonly PlainTool[] = [],
  ): Promise<Rendered> {
    const answer = await this.#ask({ type: 'render', messages, nonce, tools })
    if (answer === undefined)
      throw new UnservableError('invalid_request', this.#describeExcess(), 'messages')
    if ('rendered' in answer) return answer.rendered
    if (!('refusal' in answer)) throw new Error('the chat template failed')
    const { code, message, param } = answer.refusal
    throw new UnservableError(code, message, param)
  }

  #ask(order: TemplateOrder): Promise<TemplateAnswer | undefined> {
    return this.#process.ask(order, this.#limits.maxSeconds)
  }

  #describeExcess(): string {
    const { maxSeconds, heapMb } = this.#limits
    return `the model's chat template did not render these messages within ${maxSeconds} s and ${heapMb} MB`
  }
}
