import type { ChatCompletion } from '../../../shared/wire/openai.ts'
import type { ItemStatus, ModelResponse, OutputItem } from '../../../shared/wire/response.ts'
import type { ResponsesRequest } from '../../../shared/wire/responses.ts'
import type { AnswerHead } from './answer-head.ts'
import { itemId } from './response-events.ts'
import { describeEnd, responseFrame } from './response-frame.ts'

/** A whole chat completion as a response. */
export const wholeResponse = (
  request: ResponsesRequest,
  head: AnswerHead,
  { choices, usage }: ChatCompletion,
  completedAt: number,
): ModelResponse => {
  const choice = choices[0] as ChatCompletion['choices'][number]
  const { status, reason } = describeEnd(choice.finish_reason)
  const output = itemsOf(head, choice, status)
  return responseFrame(request, head, {
    status,
    output,
    usage,
    completedAt,
    ...(reason && { reason }),
  })
}

/** The text, if there is any or nothing else, and then the calls; only the last may be cut. */
const itemsOf = (
  head: AnswerHead,
  { message, logprobs }: ChatCompletion['choices'][number],
  status: ItemStatus,
): OutputItem[] => {
  const text = message.content ?? ''
  const calls = message.tool_calls ?? []
  const last = calls.length
  const statusAt = (index: number): ItemStatus => (index === last ? status : 'completed')
  const first = text !== '' || calls.length === 0 ? 0 : 1
  const items: OutputItem[] = []
  if (first === 0) {
    const part = { type: 'output_text' as const, text, annotations: [] }
    items.push({
      id: itemId('msg', head, 0),
      type: 'message',
      status: statusAt(0),
      role: 'assistant',
      content: [{ ...part, logprobs: logprobs?.content ?? [] }],
    })
  }
  for (const [index, { id, function: call }] of calls.entries())
    items.push({
      id: itemId('fc', head, items.length),
      type: 'function_call',
      status: statusAt(index + 1),
      call_id: id,
      name: call.name,
      arguments: call.arguments,
    })
  return items
}
