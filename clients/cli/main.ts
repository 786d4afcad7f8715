import { type Command, CommanderError } from 'commander'
import { exitCode, ShoalError } from '../../shared/errors.ts'
import { type Printable, visible } from '../../shared/print.ts'
import { onReaderGone } from '../../shared/reader-gone.ts'
import { type Api, TextAnswer } from './api.ts'
import { type ExitCodes, operationsOf } from './document.ts'
import { cacheFolder, loadDocument } from './document-cache.ts'
import { handMade } from './hand-made.ts'
import { nextStep } from './next-step.ts'
import { addOperationCommands } from './operation-commands.ts'
import { type Environment, type Options, openSession } from './session.ts'

/**
 * The command line of a user: asks the coordinator over its REST API. Most commands follow from the
 * coordinator's own API document, so that both always fit together.
 */
export const main = async (argv: string[], env: Environment): Promise<void> => {
  // nothing of what would follow is worth asking for
  onReaderGone([process.stdout, process.stderr], () => process.exit())
  try {
    const program = handMade(env)
    await addDescribed(program, argv, env)
    await program.parseAsync(argv, { from: 'user' })
  } catch (error) {
    process.exitCode = tell(error)
  }
}

const addDescribed = async (program: Command, argv: string[], env: Environment): Promise<void> => {
  const { operands } = program.parseOptions(argv)
  if (isComplete(program, operands) || isOnlyVersion(argv)) return
  const options = program.opts<Options>()
  const { api, print, write } = openSession(options, env)
  try {
    const document = await loadDocument(api, options.url, cacheFolder(env))
    addOperationCommands(program, operationsOf(document), async (call, exit) => {
      const answer = await api.call(call)
      if (answer instanceof TextAnswer) return writeText(api, answer, write)
      print(answer as Printable)
      process.exitCode = exitOf(answer as Printable, exit)
    })
  } catch (error) {
    if (operands.length > 0 || !(error instanceof ShoalError)) throw error
    process.stderr.write(`shoal: ${error.message}; only the commands of this program are shown\n`)
  }
}

/** Text goes out as it came, all pages of it. */
const writeText = async (
  api: Api,
  first: TextAnswer,
  write: (text: string) => void,
): Promise<void> => {
  let answer: unknown = first
  while (answer instanceof TextAnswer) {
    write(answer.text)
    answer = answer.next && (await api.call({ method: 'GET', path: answer.next }))
  }
}

/** What the answer itself means for a script: `pending` is no success. */
const exitOf = (answer: Printable, exit: ExitCodes | undefined): number => {
  const value = exit && (answer as Record<string, unknown>)[exit.field]
  return exit?.codes[String(value)] ?? 0
}

/** True when these words already lead to a command that does something. */
const isComplete = (program: Command, words: readonly string[]): boolean => {
  const [word, ...rest] = words
  const next = program.commands.find(command => command.name() === word)
  return next !== undefined && (next.commands.length === 0 || isComplete(next, rest))
}

const isOnlyVersion = (argv: readonly string[]): boolean =>
  argv.length === 1 && ['--version', '-V'].includes(argv[0] ?? '')

/** Says what went wrong and what to do about it; the exit code. */
const tell = (error: unknown): number => {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCode('wrong_usage')
  if (!(error instanceof ShoalError)) throw error
  const step = nextStep(error)
  const lines = [`shoal: ${visible(error.message)} (${error.code})`, ...(step ? [step] : [])]
  process.stderr.write(`${lines.join('\n')}\n`)
  return exitCode(error.code)
}
