import { Command, Option } from 'commander'
import type { PrintableRows } from '../../shared/print.ts'
import { addAgentSession } from './agent-session.ts'
import { addChat } from './chat.ts'
import { addComplete } from './complete.ts'
import { addCompletion } from './completion.ts'
import { addDoctor } from './doctor.ts'
import { addEventWatch } from './event-watch.ts'
import { addGateWatch, promptHere } from './gate-watch.ts'
import { helpLayout } from './help-layout.ts'
import { thisTerminal } from './live-screen.ts'
import { type Environment, FORMATS, type GlobalOptions, requireFormat } from './options.ts'
import { addProfileCommands } from './profile-commands.ts'
import type { OpenSession, RunWithSession } from './session.ts'
import { DEFAULT_URL } from './settings.ts'
import { addTop } from './top.ts'
import { addVersion } from './versions.ts'
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

/** The program with the commands that do not follow from the API document. */
export const handMade = (env: Environment, run: RunWithSession): Command => {
  const program = new Command('shoal')
    .description('Manage a shoal coordinator. Most commands are generated from its API.')
    .exitOverride()
    .configureOutput({ outputError: () => {} })
    .configureHelp(helpLayout)
    .helpCommand('help [command...]', 'show help for a command')
    .option('--url <url>', `the coordinator, or SHOAL_URL (default: ${DEFAULT_URL})`)
    .option('--key <key>', 'API key, or SHOAL_KEY; - reads it from standard input')
    .option('--tenant <id>', 'the tenant to act for, or SHOAL_TENANT')
    .option('--profile <name>', 'profile stored by shoal login, or SHOAL_PROFILE')
    .option('--ca-file <file>', 'certificate authority to trust, PEM, or SHOAL_CA_FILE')
    .addOption(
      new Option('-o, --format <format>', 'output format')
        .choices(FORMATS)
        .default('text')
        // a command may have formats of its own: the hook checks them
        .argParser(String),
    )
    .hook('preAction', (above, command) =>
      requireFormat(above.opts<GlobalOptions>().format, command),
    )
    .option('-V, --version', 'the versions of this program and of the coordinator')

  const show = (command: Command, look: Look): Command =>
    command
      .option('--watch', 'show it again every 2 s until Ctrl-C')
      .action(({ watch = false }: { watch?: boolean }) =>
        run(async session =>
          watch
            ? watchAnswer(session, () => look(session), thisTerminal(env))
            : session.print(await look(session)),
        ),
      )
  show(program.command('health').description('check whether the service can answer'), getHealth)
  show(
    program
      .command('models')
      .command('list')
      .description('list the models you may use, and whether they are loaded'),
    listModels,
  )
  addChat(program, run)
  addTop(program, run, () => thisTerminal(env))
  addGateWatch(program, run, promptHere)
  addEventWatch(program, run, () => thisTerminal(env))
  addAgentSession(program, run)
  addDoctor(program, env)
  addProfileCommands(program, env)
  addVersion(program, env)
  addCompletion(program)
  addComplete(program, env)
  return program
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
