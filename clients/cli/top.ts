import type { Command } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import { onStopSignals } from '../../shared/stop-signals.ts'
import { escapeHidden, escapeHiddenInJson } from '../../shared/visible.ts'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import type { Api } from './api.ts'
import type { CliSession, RunWithSession } from './session.ts'
import { type AlertList, type ScreenSize, type TopCell, type TopData, topView } from './top-view.ts'

/** The terminal that is drawn on; a pipe gets one screen and no control characters. */
interface TopTerminal {
  isTTY: boolean
  screen(): ScreenSize
  /** Aborts when the user wants to leave. */
  signal: AbortSignal
  wait?: Wait
}

const REFRESH_MS = 2000
/** The alternate screen of xterm (ctlseqs, "DECSET 1049") and back. */
const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const FROM_TOP = '\u001b[H\u001b[J'

/** `shoal top`: the fleet, drawn again each 2 s until the user leaves. */
export const addTop = (
  program: Command,
  withSession: RunWithSession,
  openTerminal: () => TopTerminal,
): void => {
  program
    .command('top')
    .description('watch the fleet: presence, GPUs, memory, slots')
    .option('--once', 'print it once and exit')
    .action(({ once }: { once?: boolean }) =>
      withSession(session => top(session, openTerminal(), once === true)),
    )
}

export const top = async (
  session: CliSession,
  terminal: TopTerminal,
  once: boolean,
): Promise<void> => {
  const { api, format, write } = session
  if (format === 'json') return write(`${escapeHiddenInJson(JSON.stringify(await lookAt(api)))}\n`)
  if (once || !terminal.isTTY)
    return write(`${topView(await lookAt(api), { ...terminal.screen(), rows: 10_000 })}\n`)

  const { signal, wait = realWait } = terminal
  write(ENTER)
  try {
    while (!signal.aborted) {
      write(`${FROM_TOP}${await drawScreen(api, terminal)}`)
      await wait(REFRESH_MS, signal)
    }
  } finally {
    write(LEAVE)
  }
}

/** Screen to draw; an unreachable coordinator is retried, a wrong key is not. */
const drawScreen = async (api: Api, terminal: TopTerminal): Promise<string> => {
  try {
    return topView(await lookAt(api), terminal.screen())
  } catch (error) {
    const passing = error instanceof ShoalError && !LASTING.includes(error.code)
    if (!passing) throw error
    return `${escapeHidden(error.message)}; trying again`
  }
}

const LASTING = ['auth_required', 'forbidden', 'invalid_request']

const lookAt = async (api: Api): Promise<TopData> => {
  const [{ cells }, utilization, alerts] = await Promise.all([
    api.get('/v1/cells') as Promise<{ cells: TopCell[] }>,
    api.call({ method: 'POST', path: '/v1/skills/fleet-utilization', body: {} }) as Promise<
      TopData['utilization']
    >,
    api.get('/v1/alerts') as Promise<AlertList>,
  ])
  return { cells, utilization, alerts }
}

/** The terminal this process runs in. */
export const thisTerminal = (env: Record<string, string | undefined>): TopTerminal => {
  const left = new AbortController()
  const { stdout } = process
  onStopSignals({
    names: ['SIGINT', 'SIGTERM'],
    onFirst: () => left.abort(),
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
  }
}
