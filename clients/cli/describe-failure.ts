import { type Command, CommanderError } from 'commander'
import {
  type ErrorCode,
  type ErrorDetails,
  errorBody,
  exitCode,
  ShoalError,
} from '../../shared/errors.ts'
import { escapeHidden, escapeHiddenInJson } from '../../shared/visible.ts'
import { rewordWrongValue } from '../../shared/wrong-value.ts'
import { argumentTerm, groupOf, pathOf, quoteWord } from './command-example.ts'
import { helpForField } from './field-help.ts'
import { pointToCommand } from './foreign-words.ts'
import { nextStep, type SettingsInUse } from './next-step.ts'

/** Context of a failed command. */
export interface Scene extends SettingsInUse {
  format: 'text' | 'json' | 'yaml'
  /** Deepest command that the arguments lead to. */
  command: Command
}

/**
 * An error of this program with a remedy that does not follow from its code. The remedies for its
 * cause, if that is a `ShoalError`, come before its own.
 */
export class GuidedError extends ShoalError {
  readonly step: string

  constructor(
    code: ErrorCode,
    message: string,
    step: string,
    details: ErrorDetails & { cause?: ShoalError } = {},
  ) {
    super(code, message, details)
    this.step = step
  }
}

/** Text for standard error and exit code of an error. */
export const describeFailure = (error: unknown, scene: Scene): { text: string; code: number } => {
  const known =
    error instanceof CommanderError ? usageOf(error, scene.command) : toShoalError(error)
  const steps = stepsOf(known, scene).map(clean)
  const code = exitOfError(known)
  if (scene.format !== 'text') {
    const { error: body } = errorBody(known)
    const next = steps.length === 0 ? {} : { next: steps.join('\n') }
    const shown = { error: { ...body, message: clean(body.message), ...next } }
    const text = scene.format === 'yaml' ? toYaml(shown.error) : `${JSON.stringify(shown)}\n`
    return { text: escapeHiddenInJson(text), code }
  }
  const first = `shoal: ${clean(escapeHidden(known.message))} (${known.code})`
  return { text: `${[first, ...steps].join('\n')}\n`, code }
}

/** YAML 1.2, in which scalars of JSON are valid: nothing is loaded for an error. */
const toYaml = (members: object): string =>
  [
    'error:',
    ...Object.entries(members).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`),
  ]
    .map(line => `${line}\n`)
    .join('')

/** Exit code of an error; waiting for an approval can be retried, unlike other refusals. */
const exitOfError = ({ code, reason, message }: ShoalError): number => {
  const isPending = reason === undefined ? OLD_PENDING.test(message) : reason === 'approval_pending'
  return exitCode(isPending ? 'client_closed' : code)
}

/** Message of a pending approval at coordinators that state no reason. */
const OLD_PENDING = /^request \S+ is pending$/

/** Any other error is a fault of this program or of the answer it received. */
const toShoalError = (error: unknown): ShoalError =>
  error instanceof ShoalError
    ? error
    : new GuidedError(
        'internal',
        `internal error: ${error instanceof Error ? error.message : String(error)}`,
        'run it with SHOAL_DEBUG=1 for details, or run shoal doctor',
      )

const stepsOf = (error: ShoalError, scene: Scene): string[] => {
  if (error instanceof GuidedError) {
    const { cause, step } = error
    return [...(cause instanceof ShoalError ? stepsOf(cause, scene) : []), step]
  }
  const parameters = parameterStep(error, scene.command)
  if (parameters !== undefined) return [parameters]
  const step =
    gateStep(error, scene.command) ?? showStep(error, scene.command) ?? nextStep(error, scene)
  return [...helpForField(scene.command, error.param), ...(step === undefined ? [] : [step])]
}

/** Command for the other kind of id: a gate and a request at it look alike. */
const gateStep = ({ code }: ShoalError, command: Command): string | undefined => {
  if (code !== 'not_found' || groupOf(command).name() !== 'gates') return undefined
  const [id = ''] = command.args
  const [argument] = command.registeredArguments
  if (argument?.name() === 'gate_id' && id.startsWith('gate_'))
    return `this is the id of a request: shoal gates show ${quoteWord(id)}\n${pathOf(command)} takes a gate: shoal gates list lists them`
  if (argument?.name() === 'request_id' && id.startsWith('gate.'))
    return `this is a gate: shoal gates check ${quoteWord(id)} shows the state of your newest request there\n${pathOf(command)} takes a request: shoal gates requests lists them`
  return undefined
}

/** Command that shows the state of an object, for a conflict with that state. */
const showStep = ({ code, reason }: ShoalError, command: Command): string | undefined => {
  if (code !== 'conflict' || reason !== undefined) return undefined
  const show = showLine(command)
  return show === undefined ? undefined : `${show} shows its state`
}

/** Line that shows the object which a command is about. */
const showLine = (command: Command): string | undefined => {
  const show =
    command.parent?.commands.find(each => each.name() === 'get') ??
    groupOf(command).commands.find(each => each.name() === 'show')
  const given = command.registeredArguments.map(argument => argument.name())
  const places = show?.registeredArguments.map(argument => given.indexOf(argument.name())) ?? []
  const words = places.map(place => command.args[place])
  if (show === undefined || words.length === 0 || words.includes(undefined)) return undefined
  return [pathOf(show), ...words.map(word => quoteWord(word ?? ''))].join(' ')
}

/** Line that lists the commands of a device, for a wrong one or wrong parameters of one. */
const parameterStep = ({ code, param }: ShoalError, command: Command): string | undefined => {
  const names = command.registeredArguments.map(argument => argument.name())
  const [field = ''] = (param ?? '').split('.')
  const isOwn = ['command', 'params'].includes(field) && names.includes(field)
  const show = code === 'invalid_request' && isOwn ? showLine(command) : undefined
  return show === undefined ? undefined : `${show} lists its commands and their parameters`
}

/** No key is shown, such as one that was given as something else. */
const clean = (text: string): string => text.replaceAll(/svc-dev-[\w-]+/g, 'svc-dev-[key]')

const usageOf = (error: CommanderError, command: Command): ShoalError => {
  const path = pathOf(command)
  const all = `${path} --help lists the choices`
  if (error.code.startsWith('commander.help')) {
    const names = command.commands.filter(isShown).map(each => each.name())
    return new GuidedError(
      'wrong_usage',
      `${path} needs a subcommand`,
      `one of: ${names.join(', ')}`,
    )
  }
  const [line = '', ...rest] = error.message.replace(/^error: /, '').split('\n')
  const first = error.code === 'commander.invalidArgument' ? rewordWrongValue(line) : line
  const isLocal = error.code === 'commander.unknownCommand' && LOCAL_COMMANDS.test(line)
  const local = isLocal
    ? ['shoal-coordinator help lists the commands that run beside the coordinator']
    : []
  const foreign = error.code === 'commander.unknownCommand' ? pointFrom(line, command) : undefined
  if (foreign !== undefined) return new GuidedError('wrong_usage', first, `${foreign}\n${all}`)
  const similar = rest.map(line => line.replace(/^\(Did you mean (.*)\?\)$/, 'did you mean $1?'))
  const more = error.code === 'commander.missingArgument' ? [usageLine(command)] : []
  return new GuidedError('wrong_usage', first, [...similar, ...more, ...local, all].join('\n'))
}

const pointFrom = (line: string, command: Command): string | undefined => {
  const [, word = ''] = /'(.*)'$/.exec(line) ?? []
  const verbs = command.commands.map(each => each.name())
  return pointToCommand(word, pathOf(command), verbs)
}

/** Commands of `shoal-coordinator`, which works on the files of the store. */
const LOCAL_COMMANDS = /'(backup|broker|init|secrets|store)'$/

const isShown = (command: Command): boolean => !command.name().startsWith('_')

const usageLine = (command: Command): string =>
  `usage: ${pathOf(command)} ${command.registeredArguments.map(argumentTerm).join(' ')}`

/** The deepest command that these words lead to. */
export const commandOf = (program: Command, words: readonly string[]): Command => {
  const [word, ...rest] = words
  const next = program.commands.find(
    each => each.name() === word || (word !== undefined && each.aliases().includes(word)),
  )
  return next === undefined ? program : commandOf(next, rest)
}
