import { Command, Option } from 'commander'
import { exitCode, ShoalError } from '../../shared/errors.ts'
import { escapeHiddenInJson, escapeHiddenInText } from '../../shared/visible.ts'
import type { ChatCompletionChunk } from '../../shared/wire/openai.ts'
import { addAgentSession } from './agent-session.ts'
import { addComplete } from './complete.ts'
import { addCompletion } from './completion.ts'
import { addDoctor } from './doctor.ts'
import { addEventWatch } from './event-watch.ts'
import { addGateWatch, promptHere } from './gate-watch.ts'
import { helpLayout } from './help-layout.ts'
import type { Environment, GlobalOptions } from './options.ts'
import { addProfileCommands } from './profile-commands.ts'
import type { OpenSession, RunWithSession } from './session.ts'
import { DEFAULT_URL } from './settings.ts'
import { addTop, thisTerminal } from './top.ts'

interface ListedModel {
  id: string
  kind: string
  state: string
  cells_ready: number
  context_length: number
  weights: string | null
}

type Run = Parameters<RunWithSession>[0]

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
      new Option('--format <format>', 'output format')
        .choices(FORMATS)
        .default('text')
        // a command may have formats of its own: the hook checks them
        .argParser(String),
    )
    .hook('preAction', (above, command) =>
      requireFormat(above.opts<GlobalOptions>().format, command),
    )
    .option('-V, --version', 'the versions of this program and of the coordinator')

  program
    .command('health')
    .description('check whether the service can answer')
    .addHelpText('after', '\nThe exit code is 0 for ok, 75 for degraded and 69 for unavailable.')
    .action(() => run(health))
  program
    .command('models')
    .command('list')
    .description('list the models you may use, and whether they are loaded')
    .action(() => run(listModels))
  program
    .command('chat')
    .argument('<text...>', 'message to the model; quotes are not needed')
    .description('ask a model and stream its answer')
    .option('--model <id>', 'which one', 'model-a:7b')
    .action((words: string[], { model }: { model: string }) =>
      run(session => chat(session, model, words.join(' '))),
    )
  addTop(program, run, () => thisTerminal(env))
  addGateWatch(program, run, promptHere)
  addEventWatch(program, run)
  addAgentSession(program, run)
  addDoctor(program, env)
  addProfileCommands(program, env)
  addCompletion(program)
  addComplete(program, env)
  return program
}

const FORMATS = ['text', 'json']

/** Throws `wrong_usage` for a format that the command does not have. */
const requireFormat = (format: string, { options }: Command): void => {
  const own = options.find(({ long }) => long === '--format')?.argChoices
  const choices = own === undefined ? FORMATS : ['text', ...own]
  if (choices.includes(format)) return
  const allowed = (own ?? FORMATS).join(', ')
  throw new ShoalError(
    'wrong_usage',
    `--format <format> cannot be '${format}': allowed choices are ${allowed}`,
  )
}

/** Exit codes by status; a status that is not known here is no success. */
const HEALTH_EXITS: Record<string, number> = {
  ok: 0,
  degraded: exitCode('draining'),
  unavailable: exitCode('cell_unavailable'),
}

const health: Run = async ({ api, print }) => {
  const answer = (await api.get('/v1/health')) as Record<string, unknown>
  print(answer)
  process.exitCode = HEALTH_EXITS[String(answer.status)] ?? exitCode('internal')
}

const listModels: Run = async ({ api, format, print }) => {
  const { models } = (await api.get('/v1/catalogue')) as { models: ListedModel[] }
  if (format === 'json') return print({ models })
  const known = models.some(({ weights }) => weights !== null)
  print(
    models.map(({ id, kind, state, cells_ready, context_length, weights }) => ({
      id,
      kind,
      state,
      cells_ready,
      context_length,
      ...(known && { weights: weights ?? '-' }),
    })),
  )
}

const chat = async ({ api, format, write, progress }: OpenSession, model: string, text: string) => {
  // greedy: small models wander off when they are sampled
  const messages = [{ role: 'user', content: text }]
  const body = { model, stream: true, temperature: 0, messages }
  progress.show(`waiting for ${model}`)
  try {
    for await (const chunk of api.stream('/v1/chat/completions', body)) {
      progress.clear()
      if (format === 'json') write(`${escapeHiddenInJson(JSON.stringify(chunk))}\n`)
      else write(escapeHiddenInText((chunk as ChatCompletionChunk).choices[0]?.delta.content ?? ''))
    }
  } finally {
    progress.clear()
  }
  if (format === 'text') write('\n')
}
