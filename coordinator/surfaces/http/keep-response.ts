import type { InputItem, ResponsesRequest } from '../../../shared/wire/responses.ts'
import type { StoredResponses } from '../../gateway/responses/stored-responses.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import type { HttpExchange } from './exchange.ts'
import type { InferenceParts } from './inference.ts'
import { EVENTS_FORM, StoredAnswer } from './stored-answer.ts'
import { createMissingResponseError } from './stored-response-routes.ts'
import { TranslatedAnswer } from './translated-answer.ts'

export interface KeepParts extends Pick<InferenceParts, 'answerMemory' | 'logger'> {
  responses: Pick<StoredResponses, 'find' | 'add'>
}

/**
 * The exchange of a request that refers to a stored response or is to be stored itself: the cell
 * gets the whole conversation, and the answer is completed. Throws `not_found`.
 */
export const keepResponse = async (
  exchange: HttpExchange,
  asked: ResponsesRequest,
  { responses, answerMemory: memory, logger }: KeepParts,
): Promise<HttpExchange> => {
  const { previous_response_id: previousId = null, store, input, ...rest } = asked
  const isStored = store === true
  if (!isStored && previousId === null) return exchange
  const { id: keyId } = exchange.key as Key
  const owner = { keyId, tenantId: exchange.tenantId }
  const previous = previousId === null ? undefined : await responses.find(previousId, owner)
  if (previousId !== null && previous === undefined)
    throw createMissingResponseError(previousId, 'previous_response_id')
  const before = previous === undefined ? [] : [...previous.input, ...previous.response.output]
  const items = [...before, ...itemsOf(input)] as InputItem[]
  const body = { ...rest, input: items }
  const answer = { responses, owner, input: items, previousId, isStored, logger }
  const response = new TranslatedAnswer({
    response: exchange.response,
    translation: new StoredAnswer(answer),
    form: EVENTS_FORM,
    isStream: asked.stream === true,
    memory,
    keyId,
  })
  const kept = { ...exchange, body, rawBody: Buffer.from(JSON.stringify(body)), response }
  // the exchange stays open for long: its own body need not stay in memory as well
  exchange.rawBody = EMPTY
  exchange.body = undefined
  return kept
}

const EMPTY = Buffer.alloc(0)

const itemsOf = (input: ResponsesRequest['input']): InputItem[] =>
  typeof input === 'string'
    ? [{ role: 'user', content: [{ type: 'input_text', text: input }] }]
    : input
