import { type Command, CommanderError } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import { onReaderGone } from '../../shared/reader-gone.ts'
import { pathOf } from './command-example.ts'
import { commandOf, describeFailure, GuidedError, type Scene } from './describe-failure.ts'
import { addHandMade, isHandMade } from './hand-made.ts'
import { thisTerminal } from './live-screen.ts'
import { addOperationCommands } from './operation-commands.ts'
import { type Environment, type GlobalOptions, readTypedFormat } from './options.ts'
import { createProgram } from './program.ts'
import { runOperation } from './run-operation.ts'
import { type OpenSession, openSession } from './session.ts'

/**
 * Command line client of the REST API. Most commands are generated from the coordinator's API
 * document, so that both always match.
 */
export const main = async (argv: string[], env: Environment): Promise<void> => {
  // A reader that closes the pipe ends the program: further requests would be useless
  onReaderGone([process.stdout, process.stderr], () => process.exit())
  const words = helpLast(argv)
  let opened: Promise<OpenSession> | undefined
  const open = (): Promise<OpenSession> => {
    opened ??= openSession(program.opts<GlobalOptions>(), env)
    return opened
  }
  const program = createProgram()
  const format = errorFormat(words)
  if (format !== 'text') program.configureOutput({ writeErr: () => {} })
  const sources: CommandSources = { program, env, open, isDescribed: false }
  try {
    if (await isVersion(program, words, env)) return
    await addCommands(sources, words)
    if (argv[0] === 'help') requireCommand(program, argv.slice(1))
    await program.parseAsync(words, { from: 'user' })
  } catch (error) {
    if (isHelp(error)) return
    if (env.SHOAL_DEBUG) console.error(error)
    // the next step may be a command of another group; nothing more is requested for it
    if (sources.isDescribed) await addAllCommands(sources).catch(() => {})
    const { text, code } = describeFailure(error, await sceneOf(program, words, format, opened))
    // The help that Commander has printed is sufficient for an incomplete command
    if (format !== 'text' || !isShort(error)) process.stderr.write(text)
    process.exitCode = code
  }
}

/** `shoal help cells list` is `shoal cells list --help`. */
const helpLast = (argv: readonly string[]): string[] =>
  argv[0] === 'help' ? [...argv.slice(1), '--help'] : [...argv]

/** Rejects help for an unknown command, which would show the help of another one. */
const requireCommand = (program: Command, argv: readonly string[]): void => {
  const words = argv.filter(word => !word.startsWith('-') && word !== 'help')
  const found = commandOf(program, words)
  const depth = pathOf(found).split(' ').length - 1
  const word = words[depth]
  if (word !== undefined && found.commands.length > 0)
    throw new GuidedError(
      'wrong_usage',
      `unknown command '${word}'`,
      `${pathOf(found)} --help lists the choices`,
    )
}

/** Format of errors: that of answers, where it has a place for them. */
const errorFormat = (argv: readonly string[]): Scene['format'] => {
  const format = readTypedFormat(argv)
  return format === 'json' || format === 'yaml' ? format : 'text'
}

const isVersion = async (program: Command, argv: string[], env: Environment): Promise<boolean> => {
  const { operands, unknown } = program.parseOptions(argv)
  const options = program.opts<GlobalOptions>()
  if (options.version !== true || operands.length > 0 || unknown.length > 0) return false
  const { showVersions } = await import('./versions.ts')
  await showVersions(options, env)
  return true
}

interface CommandSources {
  program: Command
  env: Environment
  open: () => Promise<OpenSession>
  /** True once the coordinator's operations are loaded. */
  isDescribed: boolean
}

/** Adds the commands of the typed group; all of them for a word that is no group, and for none. */
const addCommands = async (sources: CommandSources, argv: string[]): Promise<void> => {
  const { program, env, open } = sources
  const { operands } = program.parseOptions(argv)
  const [word] = operands
  const names = word === undefined ? [] : [word, `${word}s`]
  for (const name of names.filter(isHandMade))
    await addHandMade(program, name, env, async action => action(await open()))
  if (isComplete(program, operands)) return
  try {
    const operations = await (await open()).operations()
    sources.isDescribed = true
    if (operations.some(({ words: [group = ''] }) => names.includes(group)))
      return await addDescribed(sources, group => names.includes(group))
    await addAllCommands(sources)
  } catch (error) {
    if (operands.length > 0 || !(error instanceof ShoalError)) throw error
    await addHandMade(program, undefined, env, async action => action(await open()))
    process.stderr.write(`shoal: ${error.message}; only the built-in commands are shown\n`)
  }
}

/** Adds what is missing. */
const addAllCommands = async (sources: CommandSources): Promise<void> => {
  const { program, env, open } = sources
  await addHandMade(program, undefined, env, async action => action(await open()))
  await addDescribed(sources, () => true)
}

const addDescribed = async (
  { program, env, open }: CommandSources,
  isWanted: (group: string) => boolean,
): Promise<void> => {
  const session = await open()
  const operations = await session.operations()
  addOperationCommands(
    program,
    operations.filter(({ words: [group = ''] }) => isWanted(group)),
    (operation, input, flags) =>
      runOperation(session, operation, input, flags, () => thisTerminal(env)),
  )
}

/** True when these words already lead to a command that does something. */
const isComplete = (program: Command, words: readonly string[]): boolean => {
  const [word, ...rest] = words
  const next = program.commands.find(command => command.name() === word)
  return next !== undefined && (next.commands.length === 0 || isComplete(next, rest))
}

const isHelp = (error: unknown): boolean =>
  error instanceof CommanderError && error.code === 'commander.helpDisplayed'

/** A group without the word that would be a command. */
const isShort = (error: unknown): boolean =>
  error instanceof CommanderError && error.code === 'commander.help'

const sceneOf = async (
  program: Command,
  argv: string[],
  format: Scene['format'],
  opened: Promise<OpenSession> | undefined,
): Promise<Scene> => {
  const settings = await opened?.then(
    session => session.settings,
    () => undefined,
  )
  const command = commandOf(program, wordsOf(program, argv))
  return { ...settings, command, format }
}

/** A wrong flag must not hide which command was meant. */
const wordsOf = (program: Command, argv: string[]): string[] => {
  try {
    return program.parseOptions(argv).operands
  } catch {
    return argv.filter(word => !word.startsWith('-'))
  }
}
