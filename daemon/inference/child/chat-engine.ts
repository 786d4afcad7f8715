import { randomBytes } from 'node:crypto'
import type { LlamaModel } from 'node-llama-cpp'
import type { ChatOrder, LoadOrder, StepCounts } from '../protocol.ts'
import type { CallShape } from '../tool-syntax.ts'
import { BatchScheduler } from './batch-scheduler.ts'
import { createChatContext } from './context.ts'
import { generate } from './generate.ts'
import type { Emit } from './generation.ts'
import { mostCharacters, tokenizerOf } from './model.ts'
import { PromptPace } from './prompt-pace.ts'
import { isScored } from './prompt-scores.ts'
import { echoPrompt, emptyAnswer, rawPrompt } from './raw-prompt.ts'
import type { Slot } from './slot.ts'
import { pickSlot } from './slots.ts'
import { TemplateProcess } from './template-process.ts'
import { type ModelTokenizer, tokenizePieces } from './tokens.ts'
import { createTooLongError, type UnservableError } from './unservable-error.ts'

/** One context with as many sequences as slots; the daemon never sends more jobs than that. */
export class ChatEngine {
  readonly #model: LlamaModel
  readonly #mostCharacters: number
  readonly #template: TemplateProcess
  readonly #tokenizer: ModelTokenizer<number>
  readonly #slots: Slot[]
  readonly #batching: BatchScheduler
  readonly #pace = new PromptPace()

  private constructor(
    model: LlamaModel,
    batching: BatchScheduler,
    slots: Slot[],
    template: TemplateProcess,
    { contextLength }: LoadOrder,
  ) {
    this.#model = model
    this.#mostCharacters = mostCharacters(model, contextLength)
    this.#batching = batching
    this.#slots = slots
    this.#tokenizer = tokenizerOf(model)
    this.#template = template
  }

  static async create(
    model: LlamaModel,
    order: LoadOrder,
    onStep: () => void,
  ): Promise<ChatEngine> {
    const batching = new BatchScheduler(onStep)
    const [template, { slots }] = await Promise.all([
      openTemplate(model, order),
      createChatContext(model, order, batching),
    ])
    return new ChatEngine(model, batching, slots, template, order)
  }

  get counts(): StepCounts {
    return this.#batching.counts
  }

  /** Resolves after the last event of the job; the slot is then free. */
  async run(order: ChatOrder, emit: Emit, isCancelled: () => boolean): Promise<void> {
    const { prompt, callShape } = await this.#read(order)
    const tell = order.echo && !isScored(order) ? echoPrompt(this.#model, order, emit) : emit
    if (order.maxTokens === 0 && !isScored(order)) {
      for (const event of emptyAnswer(order, prompt.length)) tell(event)
      return
    }
    const picked = pickSlot(this.#slots, prompt)
    if (picked === undefined) throw new Error(`no slot is free for job ${order.job}`)
    const { slot, prefix } = picked
    slot.busy = true
    try {
      await generate({
        model: this.#model,
        pace: this.#pace,
        slot,
        prefix,
        prompt,
        callShape,
        order,
        emit: tell,
        isCancelled,
      })
    } finally {
      slot.busy = false
    }
  }

  async #read(order: ChatOrder): Promise<{ prompt: number[]; callShape?: CallShape }> {
    const characters = charactersOf(order)
    if (characters > this.#mostCharacters)
      throw createPromptTooLongError(
        `${characters} characters, and the context holds at most ${this.#mostCharacters}`,
        order,
      )
    const read =
      order.prompt === undefined
        ? await this.#render(order)
        : { prompt: rawPrompt(this.#model, this.#tokenizer, order.prompt) }
    if (read.prompt.length < order.contextLength) return read
    throw createPromptTooLongError(
      `${read.prompt.length} tokens, and the context must hold the answer too`,
      order,
    )
  }

  async #render({
    messages,
    tools,
  }: ChatOrder): Promise<{ prompt: number[]; callShape: CallShape }> {
    const nonce = randomBytes(16).toString('hex')
    const { pieces, callShape } = await this.#template.render(messages, nonce, tools)
    return { prompt: tokenizePieces(pieces, this.#tokenizer), callShape }
  }
}

/** Lower bound of the prompt's length in characters. */
const charactersOf = ({ messages, prompt, tools = [] }: ChatOrder): number => {
  if (prompt !== undefined) return prompt.length
  const calls = messages.flatMap(message => message.calls ?? [])
  return [
    ...messages.map(({ text }) => text),
    ...calls.map(call => call.arguments),
    ...tools.map(tool => JSON.stringify(tool)),
  ].reduce((sum, { length }) => sum + length, 0)
}

const createPromptTooLongError = (
  size: string,
  { prompt, contextLength }: ChatOrder,
): UnservableError => {
  const [what, param] =
    prompt === undefined
      ? ['the messages and tools have', 'messages']
      : ['the prompt has', 'prompt']
  return createTooLongError(contextLength, `${what} ${size}`, param)
}

const openTemplate = async (
  model: LlamaModel,
  { contextLength }: LoadOrder,
): Promise<TemplateProcess> => {
  const source = model.fileInfo.metadata.tokenizer.chat_template
  if (source === undefined) throw new Error('the weights contain no chat template')
  const { bosString, eosString } = model.tokens
  const variables = { bos_token: bosString ?? '', eos_token: eosString ?? '' }
  return TemplateProcess.open({
    source,
    variables,
    maxCharacters: mostCharacters(model, contextLength),
  })
}
