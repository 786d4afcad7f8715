import type { Command } from 'commander'
import { type ErrorCode, ShoalError } from '../../shared/errors.ts'
import { escapeHidden, escapeHiddenInJson } from '../../shared/visible.ts'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import type { LiveTerminal } from './live-screen.ts'
import { limitToLines } from './options.ts'
import type { CliSession, RunWithSession } from './session.ts'

/** Fields of an event that are shown; a gap has them too. */
interface Event {
  time: string
  type: string
  subject?: string
  data: unknown
}

interface WatchOptions {
  types?: string
  after?: string
  once?: boolean
}

/** Pause before a stream that ended is opened again. */
const AGAIN_MS = 2000

/** Adds `shoal events watch`: prints every event until Ctrl-C and resumes a stream that is cut. */
export const addEventWatch = (
  program: Command,
  withSession: RunWithSession,
  openTerminal: () => Pick<LiveTerminal, 'signal'>,
): void => {
  const command = program
    .command('events')
    .description('what happens')
    .command('watch')
    .description('print events as they arrive')
    .option('--types <list>', 'event types, comma-separated: shoal.gate.approved,shoal.cell.*')
    .option('--after <id>', 'start after the event with this id')
    .option('--once', 'exit after the first event')
    .action((options: WatchOptions) =>
      withSession(session => watchEvents(session, options, openTerminal().signal)),
    )
  limitToLines(command)
}

export const watchEvents = async (
  { api, format, write }: CliSession,
  { types, after, once }: WatchOptions,
  signal: AbortSignal,
  wait: Wait = realWait,
): Promise<void> => {
  const query = types === undefined ? {} : { types }
  let lastId = after
  while (!signal.aborted) {
    let pauseMs = AGAIN_MS
    try {
      for await (const { id, value } of api.events(
        { method: 'GET', path: '/v1/events', query },
        lastId,
      )) {
        lastId = id
        if (signal.aborted) return
        if (value === undefined) continue
        write(
          format === 'json'
            ? `${escapeHiddenInJson(JSON.stringify(value))}\n`
            : line(value as Event),
        )
        if (once === true) return
      }
    } catch (error) {
      pauseMs = pauseAfter(error)
    }
    await wait(pauseMs, signal)
  }
}

const TRANSIENT: readonly ErrorCode[] = ['coordinator_unavailable', 'draining', 'rate_limited']

/** Delay before a retry; rethrows errors that a retry cannot fix, such as a wrong key. */
const pauseAfter = (error: unknown): number => {
  if (!(error instanceof ShoalError && TRANSIENT.includes(error.code))) throw error
  return Math.max(AGAIN_MS, (error.retryAfterSeconds ?? 0) * 1000)
}

const line = ({ time, type, subject = '', data }: Event): string =>
  `${[time, type, subject, JSON.stringify(data)].map(escapeHidden).join('  ')}\n`
