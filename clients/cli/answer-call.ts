import type { PrintableRows } from '../../shared/print.ts'
import { formatUnits } from '../../shared/print-units.ts'
import { onStopSignals } from '../../shared/stop-signals.ts'
import { judgeAnswer } from '../../shared/success-rule.ts'
import { escapeHidden, escapeHiddenInText } from '../../shared/visible.ts'
import { type ApiCall, TextAnswer } from './api.ts'
import { GuidedError } from './describe-failure.ts'
import type { DescribedOperation } from './document.ts'
import { followWork } from './follow.ts'
import { approvalStep, decisionStep, declaredStep, outcomeStep } from './next-step.ts'
import { readableAnswer } from './readable-answer.ts'
import { sendWithKey } from './send-with-key.ts'
import type { OpenSession } from './session.ts'
import { findUnconfirmed } from './unconfirmed.ts'

type AnswerFacts = Pick<DescribedOperation, 'success' | 'units' | 'isText' | 'next'>

/** Sends a call with `send`, prints the answer and sets the exit code. */
export const answerCall = async (
  session: OpenSession,
  call: ApiCall,
  { success, units, isText, next }: AnswerFacts,
  wait: boolean,
  send: (call: ApiCall) => Promise<unknown> = session.api.call,
): Promise<void> => {
  const { api, format, isTerminal, print, settings } = session
  if (isText) return writeParts(session, call)
  const answer = await sendWithKey(session, call, send)
  if (answer instanceof TextAnswer) return writeText(session, answer)
  const end = wait ? await followAnswer(session, answer as PrintableRows, call.path) : undefined
  const shown = end?.answer ?? (answer as PrintableRows)
  const none = format === 'text' && isTerminal ? describeEmptyList(shown) : undefined
  if (none === undefined) print(presentAnswer(shown, session, units))
  else session.write(none)
  const unconfirmed = await findUnconfirmed(api, call, shown)
  if (unconfirmed !== undefined) throw unconfirmed
  const step =
    end?.hint ??
    outcomeStep(shown) ??
    requestStep(shown, call) ??
    declaredStep(shown, settings.url, next)
  if (step !== undefined && format === 'text') session.hint(step)
  if (wait && end === undefined && isPending(answer)) throw waitsForPeople(answer)
  const judged = end === undefined ? answer : resultOf(end.answer)
  process.exitCode = exitOf(judged, success) || (end?.exit ?? 0)
}

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
  units: DescribedOperation['units'],
): PrintableRows =>
  format === 'text'
    ? (formatUnits(readableAnswer(omitHint(answer)), units) as PrintableRows)
    : answer

/** The hint of a request that nobody can approve is the next step, and printed as such. */
const omitHint = (answer: PrintableRows): unknown => {
  if (!isPending(answer)) return answer
  const { hint: _hint, ...others } = answer as PendingAnswer & { hint?: unknown }
  return others
}

/** Result of a task; undefined for other work. */
const resultOf = (answer: object): unknown => (answer as { result?: unknown }).result

interface PendingAnswer {
  request_id?: string | null
  id?: string
}

/** True for a pending gate request; other answers can be pending too. */
const isPending = (answer: unknown): answer is PendingAnswer => {
  const { status, plan_hash } = answer as { status?: unknown; plan_hash?: unknown }
  return status === 'pending' && typeof plan_hash === 'string'
}

/** Suggestion after a gate request: the line to approve it, or the way on once it is approved. */
const requestStep = (answer: unknown, { method }: ApiCall): string | undefined => {
  const { requester, requester_id, state, subject, votes } = answer as Record<string, unknown>
  if (state === 'approved' && typeof subject === 'string' && subject.startsWith('shoal:'))
    return `approved: ${escapeHidden(String(requester ?? requester_id))} carries it out by repeating the same call`
  if (!isPending(answer)) return undefined
  const request = answer.request_id ?? answer.id
  if (request == null) return undefined
  if (method === 'POST') return approvalStep(request)
  return Array.isArray(votes) ? decisionStep(request) : undefined
}

/**
 * Error for an approval that takes longer than the wait: a script must not continue as if approved.
 */
const waitsForPeople = ({ request_id, id }: PendingAnswer): GuidedError => {
  const request = request_id ?? id
  return new GuidedError(
    'client_closed',
    'the request waits for approval, and --wait does not wait for approvals',
    request === undefined
      ? 'shoal gates requests lists the pending requests'
      : `shoal gates show ${escapeHidden(request)} shows its state`,
  )
}

const followAnswer = (session: OpenSession, answer: PrintableRows, path: string) => {
  const left = new AbortController()
  onStopSignals({ names: ['SIGINT', 'SIGTERM'], onFirst: () => left.abort() })
  return followWork(session, answer, { path, signal: left.signal })
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

/** Exit code for an answer, or for the result of a task; `pending` is not a success. */
const exitOf = (answer: unknown, success: DescribedOperation['success']): number => {
  if (answer === undefined || answer === null || isBegun(answer)) return 0
  return success.map(rule => judgeAnswer(answer, rule).exit).find(exit => exit !== 0) ?? 0
}

/** True for the id of a task that goes on: nothing is known of its outcome. */
const isBegun = (answer: unknown): boolean =>
  typeof (answer as { task_id?: unknown }).task_id === 'string'
