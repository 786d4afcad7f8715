import type { Command } from 'commander'
import type { PrintableRows } from '../../shared/print.ts'
import type { Api } from './api.ts'
import { drawRepeatedly, type LiveTerminal } from './live-screen.ts'
import type { CliSession, RunWithSession } from './session.ts'
import { type AlertList, type TopCell, type TopData, topView } from './top-view.ts'

/** `shoal top`: the fleet, drawn again each 2 s until the user leaves. */
export const addTop = (
  program: Command,
  withSession: RunWithSession,
  openTerminal: () => LiveTerminal,
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
  terminal: LiveTerminal,
  once: boolean,
): Promise<void> => {
  const { api, format, write, print } = session
  if (format === 'json') return print((await lookAt(api)) as PrintableRows & TopData)
  if (once || !terminal.isTTY)
    return write(`${topView(await lookAt(api), { ...terminal.screen(), rows: 10_000 })}\n`)

  await drawRepeatedly(terminal, write, async () => topView(await lookAt(api), terminal.screen()))
}

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
