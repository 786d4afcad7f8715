import type { Logger } from 'pino'
import { errorBody, httpStatus } from '../../../shared/errors.ts'
import type { ModelResponse } from '../../../shared/wire/response.ts'
import type { InputItem } from '../../../shared/wire/responses.ts'
import { SSE_DONE, SSE_HEADERS, sseData, sseEvent } from '../../../shared/wire/sse.ts'
import type { ResponseOwner, StoredResponses } from '../../gateway/responses/stored-responses.ts'
import type { StreamEvent } from './event-reader.ts'
import type { AnswerForm, Translation } from './translated-answer.ts'

interface StoredAnswerParts {
  responses: Pick<StoredResponses, 'add'>
  owner: ResponseOwner
  /** Items of the conversation, those of earlier responses first. */
  input: InputItem[]
  previousId: string | null
  isStored: boolean
  logger: Pick<Logger, 'warn'>
}

/** Events after which nothing of a response changes. */
const ENDS: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete'])

/**
 * A response of a cell, which knows of no others, as the client asked for it. It is stored before
 * the client sees its end; one that cannot be stored says so.
 */
export class StoredAnswer implements Translation {
  readonly #parts: StoredAnswerParts

  constructor(parts: StoredAnswerParts) {
    this.#parts = parts
  }

  async lines({ name, data }: StreamEvent): Promise<object[]> {
    if (name === 'error' || data === '[DONE]') return [{ name, data }]
    const event = JSON.parse(data) as { type?: string; response?: ModelResponse }
    if (event.response === undefined) return [{ name, data }]
    const response = ENDS.has(event.type)
      ? await this.#store(event.response)
      : this.#complete(event.response)
    return [{ name, data: JSON.stringify({ ...event, response }) }]
  }

  async *whole(answer: unknown): AsyncIterable<string> {
    yield JSON.stringify(await this.#store(answer as ModelResponse))
  }

  #complete(response: ModelResponse, isStored = this.#parts.isStored): ModelResponse {
    return { ...response, previous_response_id: this.#parts.previousId, store: isStored }
  }

  async #store(given: ModelResponse): Promise<ModelResponse> {
    const { responses, owner, input, isStored, logger } = this.#parts
    const response = this.#complete(given)
    if (!isStored) return response
    try {
      await responses.add({ input, response }, owner)
      return response
    } catch (error) {
      logger.warn({ err: error, response: given.id }, 'a response was not stored')
      return this.#complete(given, false)
    }
  }
}

export const EVENTS_FORM: AnswerForm = {
  streamHeaders: SSE_HEADERS,
  format: line => {
    const { name, data } = line as StreamEvent
    if (data === '[DONE]') return SSE_DONE
    return name === undefined ? sseData(JSON.parse(data)) : sseEvent(name, JSON.parse(data))
  },
  errorBody,
  errorStatus: ({ code }) => httpStatus(code),
  status: status => status,
}
