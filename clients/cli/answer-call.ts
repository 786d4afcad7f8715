import type { PrintableRows } from '../../shared/print.ts'
import { formatUnits } from '../../shared/print-units.ts'
import { onStopSignals } from '../../shared/stop-signals.ts'
import { judgeAnswer } from '../../shared/success-rule.ts'
import { escapeHidden, escapeHiddenInText } from '../../shared/visible.ts'
import { adviseOnAnswer } from './answer-step.ts'
import { type ApiCall, TextAnswer } from './api.ts'
import { GuidedError } from './describe-failure.ts'
import type { DescribedOperation } from './document.ts'
import { followWork } from './follow.ts'
import {
  classifyAnswer,
  type GateAnswer,
  isPending,
  type KindFacts,
  type KnownAnswer,
  requestIdOf,
  toKnown,
} from './known-answer.ts'
import { fillDeclaredStep } from './next-step.ts'
import { readableAnswer } from './readable-answer.ts'
import { sendWithKey } from './send-with-key.ts'
import type { OpenSession } from './session.ts'
import { findUnconfirmed } from './unconfirmed.ts'

type AnswerFacts = Pick<
  DescribedOperation,
  'success' | 'units' | 'isText' | 'next' | 'isEmergency'
> &
  KindFacts

/** Sends a call with `send`, prints the answer and sets the exit code. */
export const answerCall = async (
  session: OpenSession,
  call: ApiCall,
  operation: AnswerFacts,
  wait: boolean,
  send: (call: ApiCall) => Promise<unknown> = session.api.call,
): Promise<void> => {
  const { api, format, isTerminal, print, settings } = session
  const { success, isText, next, isEmergency } = operation
  if (isText) return writeParts(session, call)
  const answer = await sendWithKey(session, call, send, isEmergency)
  if (answer instanceof TextAnswer) return writeText(session, answer)
  const known = classifyAnswer(answer, operation)
  const end = wait ? await followAnswer(session, known) : undefined
  const shown = end?.answer ?? (answer as PrintableRows)
  const last = end === undefined ? known : endOf(known, end.answer)
  const none = format === 'text' && isTerminal ? describeEmptyList(shown) : undefined
  if (none === undefined) print(presentAnswer(shown, session, operation))
  else session.write(none)
  const unconfirmed = await findUnconfirmed(api, last)
  if (unconfirmed !== undefined) throw unconfirmed
  const step =
    end?.hint ?? adviseOnAnswer(last, call.method) ?? fillDeclaredStep(shown, settings.url, next)
  if (step !== undefined && format === 'text') session.hint(step)
  if (wait && isPending(known)) throw waitsForPeople(known.value)
  process.exitCode = exitOf(findJudgedPart(known, answer, end), success) || (end?.exit ?? 0)
}

/** Part of an answer that success rules apply to: of work, only the result of a finished task. */
const findJudgedPart = (
  known: KnownAnswer,
  answer: unknown,
  end: { answer: object } | undefined,
): unknown => {
  if (known.kind === 'begun_task') return (end?.answer as { result?: unknown } | undefined)?.result
  return end === undefined ? answer : undefined
}

/** Kind of the answer after a wait: a command stays one, other work has ended. */
const endOf = (known: KnownAnswer, answer: PrintableRows): KnownAnswer =>
  known.kind === 'command' || known.kind === 'device_command'
    ? toKnown(known.kind, answer)
    : { kind: 'other' }

/** Members of an answer that say nothing where its list is empty. */
const SILENT: readonly unknown[] = [null, false, 0, 'empty', 'live']

/** One line for an answer that is an empty list; undefined for any other. */
const describeEmptyList = (answer: object): string | undefined => {
  const lists = Object.entries(answer).filter(([, value]) => Array.isArray(value))
  const isEmpty = lists.length > 0 && lists.every(([, list]) => list.length === 0)
  const others = Object.values(answer).filter(value => !Array.isArray(value))
  if (!isEmpty || !others.every(value => SILENT.includes(value))) return undefined
  return `no ${lists.map(([name]) => escapeHidden(name.replaceAll('_', ' '))).join(', no ')}\n`
}

/** The answer as people read it, or as programs do. */
export const presentAnswer = (
  answer: PrintableRows,
  { format }: Pick<OpenSession, 'format'>,
  operation: KindFacts & Pick<DescribedOperation, 'units'>,
): PrintableRows => {
  if (format !== 'text') return answer
  const known = classifyAnswer(answer, operation)
  const shown = isPending(known) ? omitHint(known.value) : answer
  return formatUnits(readableAnswer(shown), operation.units) as PrintableRows
}

/** The hint of a request that nobody can approve is the next step, and printed as such. */
const omitHint = ({ hint: _hint, ...request }: GateAnswer): unknown => request

/**
 * Error for an approval that takes longer than the wait: a script must not continue as if approved.
 */
const waitsForPeople = (request: GateAnswer): GuidedError => {
  const id = requestIdOf(request)
  return new GuidedError(
    'forbidden',
    'the request waits for approval, and --wait does not wait for approvals',
    id === undefined
      ? 'shoal gates requests lists the pending requests'
      : `shoal gates show ${escapeHidden(id)} shows its state`,
    { reason: 'approval_pending' },
  )
}

const followAnswer = (session: OpenSession, known: KnownAnswer) => {
  const left = new AbortController()
  onStopSignals({ names: ['SIGINT', 'SIGTERM'], onFirst: () => left.abort() })
  return followWork(session, known, { signal: left.signal })
}

/** Media types that are JSON per line and are passed through unchanged. */
const LINES = /^application\/jsonl/

/**
 * Writes a text answer, all pages of it; with --json, as one JSON document. On a terminal, control
 * characters are escaped: cells and the authors of audit rows are not trusted.
 */
const writeText = async (
  { api, format, write, print, isTerminal }: OpenSession,
  first: TextAnswer,
): Promise<void> => {
  const whole = format === 'json' && !LINES.test(first.type)
  let text = ''
  let answer: unknown = first
  while (answer instanceof TextAnswer) {
    if (whole) text += answer.text
    else write(isTerminal ? onScreen(answer.text) : answer.text)
    answer = answer.next && (await api.call({ method: 'GET', path: answer.next }))
  }
  if (whole) print({ type: first.type, text })
}

/** Writes an answer of any length while it arrives. */
const writeParts = async (
  { api, write, isTerminal }: OpenSession,
  call: ApiCall,
): Promise<void> => {
  for await (const text of api.text(call)) write(isTerminal ? onScreen(text) : text)
}

const onScreen = (text: string): string => escapeHiddenInText(text.replaceAll('\r\n', '\n'))

/** Exit code for an answer by the rules of its operation; `pending` is not a success. */
const exitOf = (answer: unknown, success: DescribedOperation['success']): number => {
  if (answer === undefined || answer === null) return 0
  return success.map(rule => judgeAnswer(answer, rule).exit).find(exit => exit !== 0) ?? 0
}
