import type { Command } from 'commander'
import { exitCode } from '../../shared/errors.ts'
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
  /** Absent in answers of an older coordinator. */
  reason?: string | null
}

type Look = (session: OpenSession) => Promise<PrintableRows>

/** Adds `shoal health`. */
export const addHealth = (
  program: Command,
  run: RunWithSession,
  openTerminal: () => LiveTerminal,
): void =>
  show(
    program
      .command('health')
      .description('check whether the service can answer')
      .addHelpText('after', '\nThe exit code is 0 for ok, 75 for degraded and 69 for unavailable.'),
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

/** Exit codes by status; a status that is not known here is no success. */
const HEALTH_EXITS: Record<string, number> = {
  ok: 0,
  degraded: exitCode('draining'),
  unavailable: exitCode('cell_unavailable'),
}

const getHealth: Look = async ({ api }) => {
  const answer = (await api.get('/v1/health')) as Record<string, unknown>
  process.exitCode = HEALTH_EXITS[String(answer.status)] ?? exitCode('internal')
  return answer
}

const listModels: Look = async ({ api, format }) => {
  const { models } = (await api.get('/v1/catalogue')) as { models: ListedModel[] }
  if (format === 'json') return { models }
  const known = models.some(({ weights }) => weights !== null)
  const hasReason = models.some(({ reason }) => reason)
  return models.map(({ id, kind, state, cells_ready, context_length, weights, reason }) => ({
    id,
    kind,
    state,
    cells_ready,
    context_length,
    ...(known && { weights: weights ?? '-' }),
    ...(hasReason && { reason: shortenReason(reason ?? '-') }),
  }))
}

/** Characters of a reason in a row; `shoal models show` has the whole. */
const MAX_REASON = 60

const shortenReason = (reason: string): string =>
  reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON - 1)}…` : reason
