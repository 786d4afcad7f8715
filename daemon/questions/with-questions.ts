import { once } from 'node:events'
import { errorBody, httpStatus, retryAfterOf, ShoalError } from '../../shared/errors.ts'
import {
  type AnswerEvent,
  type AnswerLine,
  EVENTS_TYPE,
  QUESTION_MAX_BYTES,
} from '../../shared/wire/answer-events.ts'
import { readCapability } from '../../shared/wire/capability.ts'
import { HEADER_CAPABILITY } from '../../shared/wire/link.ts'
import {
  type HttpRequest,
  type HttpResponse,
  readJson,
  sendJson,
} from '../inference/openai/http.ts'
import type { Handle } from '../services/link.ts'
import type { Question } from './question.ts'

/**
 * Answers questions of the coordinator: `GET <prefix><name>?input=` with a single item, `POST` with
 * the input as JSON body and a stream of events. Other requests go to the engines. For the link
 * only: local programs have no keys here, and can query the machine themselves.
 */
export const withQuestions =
  (questions: readonly Question[], handle: Handle): Handle =>
  (request, response) => {
    const { url = '', method } = request
    const question = questions.find(({ prefix }) => url.startsWith(prefix))
    const answer = ANSWERS[method ?? '']
    if (question === undefined || answer === undefined) return handle(request, response)
    request.on('error', () => {})
    response.on('error', () => {})
    answer(question, request, response).catch(error => refuse(response, error))
  }

type Answer = (question: Question, request: HttpRequest, response: HttpResponse) => Promise<void>

const answerOnce: Answer = async (question, request, response) => {
  request.resume()
  const { name, input } = parseUrl(question, request)
  const gone = createGoneSignal(response)
  for await (const event of question.ask(name, parseInput(input), gone, levelOf(request)))
    if (event.type === 'item') return sendJson(response, event.value)
  throw new ShoalError('internal', 'the question returned no answer')
}

const answerWithEvents: Answer = async (question, request, response) => {
  const gone = createGoneSignal(response)
  const { name } = parseUrl(question, request)
  const input = await readJson(request, QUESTION_MAX_BYTES)
  await streamEvents(response, question.ask(name, input, gone, levelOf(request)), gone)
}

const ANSWERS: Readonly<Record<string, Answer>> = { GET: answerOnce, POST: answerWithEvents }

const levelOf = ({ headers }: HttpRequest): number => readCapability(headers[HEADER_CAPABILITY])

const parseUrl = ({ prefix }: Question, { url = '' }: HttpRequest) => {
  const [path = '', query] = url.split('?', 2)
  return { name: path.slice(prefix.length), input: new URLSearchParams(query).get('input') ?? '{}' }
}

const parseInput = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ShoalError('invalid_request', 'input is not valid JSON', { cause })
  }
}

/** Aborts when the connection closes, before or after the end of the answer. */
const createGoneSignal = (response: HttpResponse): AbortSignal => {
  const controller = new AbortController()
  response.once('close', () => controller.abort())
  return controller.signal
}

const refuse = (response: HttpResponse, cause: Error): void => {
  if (response.destroyed) return
  const error =
    cause instanceof ShoalError ? cause : new ShoalError('internal', cause.message, { cause })
  if (response.headersSent) {
    writeLine(response, { type: 'error', code: error.code, message: error.message.slice(0, 500) })
    response.end()
    return
  }
  const seconds = retryAfterOf(error)
  if (seconds !== undefined) response.setHeader('retry-after', seconds)
  response.statusCode = httpStatus(error.code)
  sendJson(response, errorBody(error))
}

/**
 * Streams events with backpressure. The head waits for the first event, so that a refusal has its
 * own status.
 * @param gone aborts when the peer has left; the promise then rejects
 */
const streamEvents = async (
  response: HttpResponse,
  events: AsyncIterable<AnswerEvent>,
  gone: AbortSignal,
): Promise<void> => {
  for await (const event of events) {
    gone.throwIfAborted()
    if (!writeLine(response, event)) await once(response, 'drain', { signal: gone })
  }
  writeLine(response, { type: 'end' })
  response.end()
}

/** Returns false when the peer has not read what it was sent. */
const writeLine = (response: HttpResponse, line: AnswerLine): boolean => {
  if (!response.headersSent) response.setHeader('content-type', EVENTS_TYPE)
  return response.write(`${JSON.stringify(line)}\n`)
}
