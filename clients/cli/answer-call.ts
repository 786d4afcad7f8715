import type { Printable } from '../../shared/print.ts'
import { formatUnits } from '../../shared/print-units.ts'
import { onStopSignals } from '../../shared/stop-signals.ts'
import { escapeHidden, escapeHiddenInText } from '../../shared/visible.ts'
import { type Call, TextAnswer } from './api.ts'
import type { DescribedOperation, ExitCodes } from './document.ts'
import { follow } from './follow.ts'
import { during } from './progress.ts'
import type { OpenSession } from './session.ts'
import { Guided } from './tell.ts'

/** Asks, writes the answer, and sets the exit code that it stands for. */
export const answerCall = async (
  session: OpenSession,
  call: Call,
  { exit, units }: Pick<DescribedOperation, 'exit' | 'units'>,
  wait: boolean,
): Promise<void> => {
  const { api, format, print, progress, settings } = session
  const answer = await during(progress, `waiting for ${settings.url}`, api.call(call))
  if (answer instanceof TextAnswer) return writeText(session, answer)
  const end = wait ? await followed(session, answer as Printable) : undefined
  const shown = end?.answer ?? (answer as Printable)
  print(format === 'text' ? (formatUnits(shown, units) as Printable) : shown)
  if (wait && end === undefined && isPending(answer)) throw leftToPeople(answer)
  process.exitCode = end?.exit ?? exitOf(answer as Printable, exit)
}

interface PendingAnswer {
  request_id?: string | null
  id?: string
}

/** Of a request at a gate; other things are pending too. */
const isPending = (answer: unknown): answer is PendingAnswer => {
  const { status, plan_hash } = answer as { status?: unknown; plan_hash?: unknown }
  return status === 'pending' && typeof plan_hash === 'string'
}

/** People take hours. Who asked to wait must not go on as if it had been approved. */
const leftToPeople = ({ request_id, id }: PendingAnswer): Guided => {
  const request = request_id ?? id
  return new Guided(
    'client_closed',
    'it waits for people, and --wait does not wait for them',
    request === undefined
      ? 'shoal gates requests lists what is asked'
      : `shoal gates show ${escapeHidden(request)} tells how it stands`,
  )
}

const followed = (session: OpenSession, answer: Printable) => {
  const left = new AbortController()
  onStopSignals({ names: ['SIGINT', 'SIGTERM'], onFirst: () => left.abort() })
  return follow(session, answer, { signal: left.signal })
}

/** What is JSON itself, line by line, stays as it is. */
const LINES = /^application\/jsonl/

/**
 * Text goes out as it came, all pages of it; for programs that want one JSON document, as one. On a
 * terminal nothing of it steers that: cells, and who wrote what the audit has, are not believed.
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

const onScreen = (text: string): string => escapeHiddenInText(text.replaceAll('\r\n', '\n'))

/** What the answer itself means for a script: `pending` is no success. */
const exitOf = (answer: Printable, exit: ExitCodes | undefined): number => {
  const value = exit && (answer as Record<string, unknown>)[exit.field]
  return exit?.codes[String(value)] ?? 0
}
