import { Command, Option } from 'commander'
import { visible, visibleText } from '../../shared/print.ts'
import { VERSION } from '../../shared/version.ts'
import type { ChatCompletionChunk, ModelList } from '../../shared/wire/openai.ts'
import { addGateWatch, thisJudge } from './gate-watch.ts'
import {
  type Environment,
  type Options,
  openSession,
  type Session,
  type WithSession,
} from './session.ts'
import { addTop, thisTerminal } from './top.ts'

const DEFAULT_URL = 'http://127.0.0.1:7070'

type Run = Parameters<WithSession>[0]

/** The program with the commands that do not follow from the API document. */
export const handMade = (env: Environment): Command => {
  const program = new Command('shoal')
    .description('Ask a shoal coordinator. Its other commands come from the coordinator itself.')
    .version(VERSION)
    .exitOverride()
    .addOption(
      new Option('--url <url>', 'the coordinator, or SHOAL_URL').default(
        env.SHOAL_URL || DEFAULT_URL,
      ),
    )
    .option('--key <key>', 'your key, or SHOAL_KEY')
    .option('--tenant <id>', 'the tenant to act for, or SHOAL_TENANT')
    .addOption(
      new Option('--format <format>', 'how to print').choices(['text', 'json']).default('text'),
    )
  const run: WithSession = action => action(openSession(program.opts<Options>(), env))

  program
    .command('health')
    .description('is the service able to answer')
    .action(() => run(health))
  program
    .command('models')
    .description('the models you may use')
    .command('list')
    .description('list them')
    .action(() => run(listModels))
  program
    .command('chat <text...>')
    .description('ask a model and print its answer as it comes')
    .option('--model <id>', 'which one', 'model-a:7b')
    .action((words: string[], { model }: { model: string }) =>
      run(session => chat(session, model, words.join(' '))),
    )
  addTop(program, run, () => thisTerminal(env))
  addGateWatch(program, run, thisJudge)
  return program
}

const health: Run = async ({ api, print }) =>
  print((await api.get('/v1/health')) as Record<string, unknown>)

const listModels: Run = async ({ api, format, write, print }) => {
  const list = (await api.get('/v1/models')) as ModelList
  if (format === 'json') return print(list)
  for (const { id, weights } of list.data)
    write(`${[id, weights ?? ''].map(visible).join('\t').trim()}\n`)
}

const chat = async ({ api, format, write }: Session, model: string, text: string) => {
  // greedy: small models wander off when they are sampled
  const messages = [{ role: 'user', content: text }]
  const body = { model, stream: true, temperature: 0, messages }
  for await (const chunk of api.stream('/v1/chat/completions', body)) {
    if (format === 'json') write(`${JSON.stringify(chunk)}\n`)
    else write(visibleText((chunk as ChatCompletionChunk).choices[0]?.delta.content ?? ''))
  }
  if (format === 'text') write('\n')
}
