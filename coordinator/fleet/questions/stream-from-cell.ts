import { type ErrorCode, type ErrorDetails, ShoalError } from '../../../shared/errors.ts'
import {
  type AnswerEvent,
  AnswerLine,
  EVENT_MAX_BYTES,
} from '../../../shared/wire/answer-events.ts'
import type { CellLink } from '../cells/cell-link.ts'
import type { Fleet } from '../cells/fleet.ts'
import {
  type CellQuestion,
  createCellUnavailableError,
  createNoAnswerError,
  limitTime,
  linkTo,
  requestFor,
} from './ask-cell.ts'
import { codeOf, messageOf } from './cell-answer.ts'
import { LineReader } from './line-reader.ts'

/**
 * Streams the events of a cell's answer. The question is sent with the first read; the cell waits
 * while the reader does, and stops when the reader leaves or the signal aborts. Throws `not_found`
 * for a cell that is not enrolled, `invalid_request` for input that the cell refuses, `scope_denied`
 * for an address outside its scope, `forbidden` or `broker_unavailable` for what it has met there,
 * and `cell_unavailable` for a cell that is disconnected, busy or too old, or whose answer was cut
 * off, late or too long.
 */
export async function* streamFromCell(
  fleet: Pick<Fleet, 'cell'>,
  cellId: string,
  question: CellQuestion,
  signal: AbortSignal,
): AsyncGenerator<AnswerEvent, void, void> {
  const link = linkTo(fleet, cellId)
  const limited = limitTime(question, signal)
  try {
    yield* readEvents(link, question, limited)
  } catch (cause) {
    if (cause instanceof Refusal) throw toRefusalError(cellId, question, cause)
    if (cause instanceof ShoalError) throw cause
    throw createNoAnswerError(cellId, question, cause, limited)
  }
}

async function* readEvents(
  link: CellLink,
  question: CellQuestion,
  signal: AbortSignal,
): AsyncGenerator<AnswerEvent, void, void> {
  signal.throwIfAborted()
  const { maxBytes } = question
  const lines = new LineReader({ maxBytes, maxLineBytes: EVENT_MAX_BYTES })
  lines.attach(link.request(requestFor(question), lines))
  const cancel = (): void => lines.cancel()
  signal.addEventListener('abort', cancel)
  try {
    const status = await lines.status
    if (status !== 200) throw await readRefusal(lines)
    for (let event = await readLine(lines); event.type !== 'end'; event = await readLine(lines)) {
      if (event.type === 'error') throw new Refusal(event.code, event.message)
      yield event
    }
  } finally {
    signal.removeEventListener('abort', cancel)
    lines.cancel()
  }
}

const readLine = async (lines: LineReader): Promise<AnswerLine> => {
  const line = await lines.read()
  if (line === undefined) throw new Error('the answer has no end')
  try {
    return AnswerLine.parse(JSON.parse(line))
  } catch (cause) {
    throw new Error('a line is not an event', { cause })
  }
}

/** Reason that the cell gave for refusing or ending its answer. */
class Refusal extends Error {
  readonly code: string | undefined

  constructor(code: string | undefined, message: string) {
    super(message)
    this.code = code
  }
}

const readRefusal = async (lines: LineReader): Promise<Refusal> => {
  const body = Buffer.from((await lines.read()) ?? '')
  return new Refusal(codeOf(body), messageOf(body).slice(0, 500))
}

/** Refusals that are about what was asked, and not about the cell. */
const REFUSALS: readonly ErrorCode[] = ['scope_denied', 'forbidden', 'broker_unavailable']

/** A cell reports the brokers of its site. */
const onwardFrom = (code: ErrorCode): ErrorDetails =>
  code === 'broker_unavailable' ? { reason: 'site_broker', next: 'shoal mqtt brokers' } : {}

const toRefusalError = (cellId: string, { what }: CellQuestion, refusal: Refusal): ShoalError => {
  const { code, message } = refusal
  if (code === 'invalid_request')
    return new ShoalError(
      'invalid_request',
      `cell ${cellId} refused the input of ${what}: ${message}`,
    )
  const refused = REFUSALS.find(known => known === code)
  if (refused !== undefined)
    return new ShoalError(
      refused,
      `cell ${cellId} refused ${what}: ${message}`,
      onwardFrom(refused),
    )
  if (code === 'not_found')
    return createCellUnavailableError(cellId, `is too old for ${what}`, refusal)
  if (code === 'rate_limited')
    return createCellUnavailableError(cellId, `is too busy for ${what}`, refusal)
  return createCellUnavailableError(cellId, `failed at ${what}: ${message}`, refusal)
}
