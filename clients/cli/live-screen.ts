import { type ErrorCode, ShoalError } from '../../shared/errors.ts'
import { onStopSignals } from '../../shared/stop-signals.ts'
import { escapeHidden } from '../../shared/visible.ts'
import { wait as realWait, type Wait } from '../../shared/wait.ts'

/** The terminal that is drawn on; a pipe gets no control characters. */
export interface LiveTerminal {
  isTTY: boolean
  screen(): { columns: number; rows: number; colour: boolean }
  /** Aborts when the user wants to leave. */
  signal: AbortSignal
  /** Reads the keys that leave, without echo, until the returned function is called. */
  readKeys?: () => () => void
  wait?: Wait
}

/** Time between two requests for what is shown. */
const REFRESH_MS = 2000
/** Time for a request that is still under way when the user leaves. */
const LEAVE_MS = 300

/** The alternate screen of xterm (ctlseqs, "DECSET 1049") and back. */
const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const TOP = '\u001b[H'
const CLEAR_LINE = '\u001b[K'
const CLEAR_BELOW = '\u001b[J'

/**
 * Draws a text again each 2 s until the user leaves. Each line is overwritten in place, in one write
 * for the whole screen, so that nothing flickers. An unreachable coordinator is retried, a wrong key
 * is not.
 */
export const drawRepeatedly = async (
  { screen, signal, readKeys, wait = realWait }: LiveTerminal,
  write: (text: string) => void,
  draw: () => Promise<string>,
): Promise<void> => {
  const restoreKeys = readKeys?.()
  write(ENTER)
  try {
    const show = (text: string): void => write(frameOf(text, screen()))
    await repeatUntilLeft({ signal, wait }, draw, { show, explain: show })
  } finally {
    write(LEAVE)
    restoreKeys?.()
  }
}

/**
 * Calls `look` each 2 s, or less often if the coordinator asks for that, and shows what it returns;
 * `explain` gets the reason why there is nothing new.
 */
export const repeatUntilLeft = async (
  { signal, wait = realWait }: Pick<LiveTerminal, 'signal' | 'wait'>,
  look: () => Promise<string>,
  { show, explain }: { show: (text: string) => void; explain: (text: string) => void },
): Promise<void> => {
  const left = new Promise<undefined>(done =>
    signal.addEventListener('abort', () => done(undefined), { once: true }),
  )
  while (!signal.aborted) {
    let pauseMs = REFRESH_MS
    try {
      const text = await Promise.race([look(), left])
      if (text === undefined) return
      show(text)
    } catch (error) {
      if (!(error instanceof ShoalError) || LASTING.includes(error.code)) throw error
      pauseMs = Math.max(pauseMs, (error.retryAfterSeconds ?? 0) * 1000)
      explain(`${escapeHidden(error.message)}; trying again`)
    }
    await wait(pauseMs, signal)
  }
}

/** Errors that a repetition does not resolve. */
const LASTING: readonly ErrorCode[] = [
  'auth_required',
  'forbidden',
  'tenant_forbidden',
  'invalid_request',
  'not_found',
  'model_not_found',
  'config_invalid',
  'wrong_usage',
]

/** A screen that replaces the previous one; lines that do not fit are counted in the last one. */
const frameOf = (text: string, { rows, columns }: { rows: number; columns: number }): string => {
  const lines = text.split('\n')
  const room = Math.max(1, rows - 1)
  const shown = lines.length > room ? lines.slice(0, room - 1) : lines
  if (shown.length < lines.length) shown.push(`and ${lines.length - shown.length} more lines`)
  return `${TOP}${shown.map(line => `${cutLine(line, columns)}${CLEAR_LINE}`).join('\n')}${CLEAR_BELOW}`
}

/** Colours take no room on the screen; a line with colours has been fitted by its author. */
const cutLine = (line: string, columns: number): string =>
  line.length > columns && !line.includes('\u001b') ? `${line.slice(0, columns - 1)}…` : line

/** The terminal this process runs in. The first Ctrl-C ends the drawing, a later one the process. */
export const thisTerminal = (env: Record<string, string | undefined>): LiveTerminal => {
  const left = new AbortController()
  const { stdout } = process
  const leave = (): void => {
    left.abort()
    setTimeout(() => process.exit(), LEAVE_MS).unref()
  }
  onStopSignals({
    names: ['SIGINT', 'SIGTERM'],
    onFirst: leave,
    onRepeat: () => {
      if (stdout.isTTY) stdout.write(LEAVE)
      process.exit()
    },
  })
  const colour = stdout.isTTY === true && !env.NO_COLOR
  return {
    isTTY: stdout.isTTY === true,
    screen: () => ({ columns: stdout.columns || 200, rows: stdout.rows || 24, colour }),
    signal: left.signal,
    readKeys: () => readLeavingKeys(leave),
  }
}

/** `q`, Ctrl-C and Ctrl-D: a raw terminal sends no signals. */
const LEAVING = ['q', 'Q', '\u0003', '\u0004']

const readLeavingKeys = (leave: () => void): (() => void) => {
  const { stdin } = process
  if (stdin.isTTY !== true) return () => {}
  const take = (piece: Buffer): void => {
    const typed = piece.toString('latin1')
    if (LEAVING.some(key => typed.includes(key))) leave()
  }
  stdin.setRawMode(true)
  stdin.on('data', take)
  return () => {
    stdin.off('data', take)
    stdin.setRawMode(false)
    stdin.pause()
  }
}
