import { Command, CommanderError, Option } from 'commander'
import { exitCode, ShoalError } from '../../shared/errors.ts'
import { VERSION } from '../../shared/version.ts'
import type { ChatCompletionChunk, ModelList } from '../../shared/wire/openai.ts'
import { type Api, createApi } from './api.ts'

type Environment = Record<string, string | undefined>

interface Options {
  url: string
  key?: string
  format: 'text' | 'json'
}

/** The command line of a user: asks the coordinator over its REST API. */
export const main = async (argv: string[], env: Environment): Promise<void> => {
  try {
    await commands(env).parseAsync(argv, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : 64
      return
    }
    if (!(error instanceof ShoalError)) throw error
    process.stderr.write(`shoal: ${error.message} (${error.code})\n`)
    process.exitCode = exitCode(error.code)
  }
}

const commands = (env: Environment): Command => {
  const program = new Command('shoal')
    .description('Ask a shoal coordinator.')
    .version(VERSION)
    .exitOverride()
    .addOption(
      new Option('--url <url>', 'the coordinator, or SHOAL_URL').default(
        env.SHOAL_URL ?? 'http://127.0.0.1:7070',
      ),
    )
    .option('--key <key>', 'your key, or SHOAL_KEY')
    .addOption(
      new Option('--format <format>', 'how to print').choices(['text', 'json']).default('text'),
    )

  const withApi = (run: (api: Api, options: Options) => Promise<void>): Promise<void> => {
    const options = program.opts<Options>()
    return run(createApi({ url: options.url, key: options.key ?? env.SHOAL_KEY }), options)
  }

  program
    .command('health')
    .description('is the service able to answer')
    .action(() => withApi(async (api, { format }) => print(await api.get('/v1/health'), format)))

  const models = program.command('models').description('the models you may use')
  models
    .command('list')
    .description('list them')
    .action(() => withApi(listModels))

  program
    .command('chat <text>')
    .description('ask a model and print its answer as it comes')
    .option('--model <id>', 'which one', 'model-a:7b')
    .action((text: string, { model }: { model: string }) =>
      withApi((api, options) => chat(api, options, model, text)),
    )
  return program
}

const listModels = async (api: Api, { format }: Options): Promise<void> => {
  const list = (await api.get('/v1/models')) as ModelList
  if (format === 'json') return print(list, format)
  for (const { id, weights } of list.data)
    process.stdout.write(`${[id, weights].join('\t').trim()}\n`)
}

const chat = async (api: Api, { format }: Options, model: string, text: string): Promise<void> => {
  const body = { model, stream: true, messages: [{ role: 'user', content: text }] }
  for await (const chunk of api.stream('/v1/chat/completions', body)) {
    if (format === 'json') process.stdout.write(`${JSON.stringify(chunk)}\n`)
    else process.stdout.write((chunk as ChatCompletionChunk).choices[0]?.delta.content ?? '')
  }
  if (format === 'text') process.stdout.write('\n')
}

const print = (value: unknown, format: Options['format']): void => {
  const lines =
    format === 'json'
      ? [JSON.stringify(value)]
      : Object.entries(value as object).map(([name, item]) => `${name.padEnd(12)} ${item}`)
  process.stdout.write(`${lines.join('\n')}\n`)
}
