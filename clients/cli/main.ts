import { type Command, CommanderError } from 'commander'
import { ShoalError } from '../../shared/errors.ts'

import { onReaderGone } from '../../shared/reader-gone.ts'
import { pathOf } from './command-example.ts'
import { commandOf, describeFailure, GuidedError, type Scene } from './describe-failure.ts'
import { handMade } from './hand-made.ts'
import { thisTerminal } from './live-screen.ts'
import { addOperationCommands } from './operation-commands.ts'
import { type Environment, type GlobalOptions, typedFormat } from './options.ts'
import { runOperation } from './run-operation.ts'
import { type OpenSession, openSession } from './session.ts'
import { showVersions } from './versions.ts'

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
  const program = handMade(env, async action => action(await open()))
  const json = isJson(words)
  if (json) program.configureOutput({ writeErr: () => {} })
  try {
    if (await isVersion(program, words, env)) return
    await addDescribed(program, words, env, open)
    if (argv[0] === 'help') requireCommand(program, argv.slice(1))
    await program.parseAsync(words, { from: 'user' })
  } catch (error) {
    if (isHelp(error)) return
    if (env.SHOAL_DEBUG) console.error(error)
    const { text, code } = describeFailure(error, await sceneOf(program, words, json, opened))
    // The help that Commander has printed is sufficient for an incomplete command
    if (json || !isShort(error)) process.stderr.write(text)
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

/** True when errors are printed as JSON, which YAML includes. */
const isJson = (argv: readonly string[]): boolean => ['json', 'yaml'].includes(typedFormat(argv))

const isVersion = async (program: Command, argv: string[], env: Environment): Promise<boolean> => {
  const { operands, unknown } = program.parseOptions(argv)
  const options = program.opts<GlobalOptions>()
  if (options.version !== true || operands.length > 0 || unknown.length > 0) return false
  await showVersions(options, env)
  return true
}

const addDescribed = async (
  program: Command,
  argv: string[],
  env: Environment,
  open: () => Promise<OpenSession>,
): Promise<void> => {
  const { operands } = program.parseOptions(argv)
  if (isComplete(program, operands)) return
  try {
    const session = await open()
    addOperationCommands(program, await session.operations(), (operation, input, flags) =>
      runOperation(session, operation, input, flags, () => thisTerminal(env)),
    )
  } catch (error) {
    if (operands.length > 0 || !(error instanceof ShoalError)) throw error
    process.stderr.write(`shoal: ${error.message}; only the built-in commands are shown\n`)
  }
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
  json: boolean,
  opened: Promise<OpenSession> | undefined,
): Promise<Scene> => {
  const settings = await opened?.then(
    session => session.settings,
    () => undefined,
  )
  const command = commandOf(program, wordsOf(program, argv))
  return { ...settings, command, format: json ? 'json' : 'text' }
}

/** A wrong flag must not hide which command was meant. */
const wordsOf = (program: Command, argv: string[]): string[] => {
  try {
    return program.parseOptions(argv).operands
  } catch {
    return argv.filter(word => !word.startsWith('-'))
  }
}
