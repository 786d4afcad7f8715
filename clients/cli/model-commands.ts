import type { Command } from 'commander'
import type { PrintableRows } from '../../shared/print.ts'
import type { LiveTerminal } from './live-screen.ts'
import type { OpenSession, RunWithSession } from './session.ts'
import { watchAnswer } from './watch-answer.ts'

interface ListedModel {
  id: string
  kind: string
  state: string
  cells_ready: number
  context_length: number
  weights: string | null
}

type Look = (session: OpenSession) => Promise<PrintableRows>

/** Adds `shoal health`. */
export const addHealth = (
  program: Command,
  run: RunWithSession,
  openTerminal: () => LiveTerminal,
): void =>
  show(
    program.command('health').description('check whether the service can answer'),
    getHealth,
    run,
    openTerminal,
  )

/** Adds `shoal models list`. */
export const addModelList = (
  program: Command,
  run: RunWithSession,
  openTerminal: () => LiveTerminal,
): void =>
  show(
    program
      .command('models')
      .command('list')
      .description('list the models you may use, and whether they are loaded'),
    listModels,
    run,
    openTerminal,
  )

const show = (
  command: Command,
  look: Look,
  run: RunWithSession,
  openTerminal: () => LiveTerminal,
): void => {
  command
    .option('--watch', 'show it again every 2 s until Ctrl-C')
    .action(({ watch = false }: { watch?: boolean }) =>
      run(async session =>
        watch
          ? watchAnswer(session, () => look(session), openTerminal())
          : session.print(await look(session)),
      ),
    )
}

const getHealth: Look = async ({ api }) => (await api.get('/v1/health')) as Record<string, unknown>

const listModels: Look = async ({ api, format }) => {
  const { models } = (await api.get('/v1/catalogue')) as { models: ListedModel[] }
  if (format === 'json') return { models }
  const known = models.some(({ weights }) => weights !== null)
  return models.map(({ id, kind, state, cells_ready, context_length, weights }) => ({
    id,
    kind,
    state,
    cells_ready,
    context_length,
    ...(known && { weights: weights ?? '-' }),
  }))
}
