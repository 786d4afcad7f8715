import type { ShoalError } from '../../../shared/errors.ts'
import type { ChatCompletionChunk, FinishReason, Usage } from '../../../shared/wire/openai.ts'
import type {
  ItemStatus,
  ModelResponse,
  OutputCall,
  OutputItem,
  OutputMessage,
  OutputText,
  ResponseEvent,
  TextLogprob,
} from '../../../shared/wire/response.ts'
import type { ResponsesRequest } from '../../../shared/wire/responses.ts'
import type { AnswerHead } from './answer-head.ts'
import { describeEnd, type ResponseProgress, responseFrame } from './response-frame.ts'

type Choice = ChatCompletionChunk['choices'][number]
/** Each kind of event without its sequence number. */
type Unnumbered = ResponseEvent extends infer E
  ? E extends ResponseEvent
    ? Omit<E, 'sequence_number'>
    : never
  : never

/** Makes the events of a streamed response out of the chunks of a chat completion. */
export class ResponseEvents {
  readonly #request: ResponsesRequest
  readonly #head: AnswerHead
  readonly #output: OutputItem[] = []
  #open: OutputItem | undefined
  #finish: FinishReason = 'stop'
  #sequence = 0
  #events: ResponseEvent[] = []

  constructor(request: ResponsesRequest, head: AnswerHead) {
    this.#request = request
    this.#head = head
  }

  /** The events of one chunk. */
  chunk({ choices }: ChatCompletionChunk): ResponseEvent[] {
    this.#begin()
    for (const choice of choices) this.#choice(choice)
    return this.#take()
  }

  /** @param completedAt unix time, seconds */
  end(usage: Usage, completedAt: number): ResponseEvent[] {
    this.#begin()
    const { status, reason } = describeEnd(this.#finish)
    if (this.#output.length === 0) this.#openMessage()
    this.#close(status)
    const progress = { status, usage, completedAt, ...(reason && { reason }) }
    this.#push({ type: `response.${status}`, response: this.#response(progress) })
    return this.#take()
  }

  fail({ message }: ShoalError): ResponseEvent[] {
    this.#begin()
    if (this.#open) this.#open.status = 'incomplete'
    const error = { code: 'server_error', message }
    this.#push({ type: 'response.failed', response: this.#response({ status: 'failed', error }) })
    return this.#take()
  }

  #begin(): void {
    if (this.#sequence > 0) return
    const response = this.#response({ status: 'in_progress' })
    this.#push({ type: 'response.created', response })
    this.#push({ type: 'response.in_progress', response })
  }

  #choice({ delta, logprobs, finish_reason: finish }: Choice): void {
    if (delta.content) this.#text(delta.content, logprobs?.content ?? [])
    for (const call of delta.tool_calls ?? []) {
      const { name, arguments: piece } = call.function
      if (call.id !== undefined) this.#openCall(call.id, name ?? '')
      if (piece !== '') this.#arguments(piece)
    }
    if (finish !== null) this.#finish = finish
  }

  #text(delta: string, logprobs: TextLogprob[]): void {
    const { item, part } = this.#message()
    part.text += delta
    part.logprobs.push(...logprobs)
    this.#push({
      type: 'response.output_text.delta',
      ...this.#place(item),
      content_index: 0,
      delta,
      logprobs,
    })
  }

  #message(): { item: OutputMessage; part: OutputText } {
    const item = this.#open?.type === 'message' ? this.#open : this.#openMessage()
    return { item, part: item.content[0] as OutputText }
  }

  #openMessage(): OutputMessage {
    const item: OutputMessage = {
      id: this.#newId('msg'),
      type: 'message',
      status: 'in_progress',
      role: 'assistant',
      content: [],
    }
    this.#add(item)
    item.content.push({ type: 'output_text', text: '', annotations: [], logprobs: [] })
    this.#part('response.content_part.added', item)
    return item
  }

  #openCall(callId: string, name: string): void {
    this.#add({
      id: this.#newId('fc'),
      type: 'function_call',
      status: 'in_progress',
      call_id: callId,
      name,
      arguments: '',
    })
  }

  #arguments(delta: string): void {
    const item = this.#open
    if (item?.type !== 'function_call') return
    item.arguments += delta
    this.#push({ type: 'response.function_call_arguments.delta', ...this.#place(item), delta })
  }

  #add(item: OutputItem): void {
    this.#close('completed')
    this.#output.push(item)
    this.#open = item
    const output_index = this.#output.length - 1
    this.#push({ type: 'response.output_item.added', output_index, item: structuredClone(item) })
  }

  #close(status: ItemStatus): void {
    const item = this.#open
    if (item === undefined) return
    this.#open = undefined
    item.status = status
    if (item.type === 'message') this.#closeText(item)
    else this.#closeCall(item)
    const { output_index } = this.#place(item)
    this.#push({ type: 'response.output_item.done', output_index, item })
  }

  #closeText(item: OutputMessage): void {
    const { text, logprobs } = item.content[0] as OutputText
    this.#push({
      type: 'response.output_text.done',
      ...this.#place(item),
      content_index: 0,
      text,
      logprobs,
    })
    this.#part('response.content_part.done', item)
  }

  #closeCall(item: OutputCall): void {
    this.#push({
      type: 'response.function_call_arguments.done',
      ...this.#place(item),
      name: item.name,
      arguments: item.arguments,
    })
  }

  #part(
    type: 'response.content_part.added' | 'response.content_part.done',
    item: OutputMessage,
  ): void {
    const part = structuredClone(item.content[0] as OutputText)
    this.#push({ type, ...this.#place(item), content_index: 0, part })
  }

  #place(item: OutputItem): { item_id: string; output_index: number } {
    return { item_id: item.id, output_index: this.#output.indexOf(item) }
  }

  #newId(prefix: string): string {
    return itemId(prefix, this.#head, this.#output.length)
  }

  #response(progress: Omit<ResponseProgress, 'output'>): ModelResponse {
    return responseFrame(this.#request, this.#head, { ...progress, output: this.#output })
  }

  #push(event: Unnumbered): void {
    this.#events.push({ ...event, sequence_number: this.#sequence++ } as ResponseEvent)
  }

  #take(): ResponseEvent[] {
    return this.#events.splice(0)
  }
}

/** `msg_…` or `fc_…`, unique because the id of the response is. */
export const itemId = (prefix: string, { id }: AnswerHead, index: number): string =>
  `${prefix}_${id.replace(/^resp_/, '')}${index}`
