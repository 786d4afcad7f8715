import { readFileSync } from 'node:fs'
import { Argument, type Command, Option } from 'commander'
import { escapeHidden, escapeHiddenInJson } from '../../shared/visible.ts'
import { pathOf, quoteWord, setExample } from './command-example.ts'
import type { DescribedOperation, Field } from './document.ts'
import { flagOf, isTextList, jsonObject, listChoices, optionsOf } from './flags.ts'
import { mayTakeLong, waitsByDefault } from './follow.ts'
import { hasBody, readInput, type TypedInput } from './operation-call.ts'
import type { RunFlags } from './run-operation.ts'

/** Adds a command for every operation: `shoal <group> <verb> <arguments> [flags]`. */
export const addOperationCommands = (
  program: Command,
  operations: readonly DescribedOperation[],
  run: (operation: DescribedOperation, input: TypedInput, flags: RunFlags) => Promise<void>,
): void => {
  const taken = new Set<string>()
  for (const operation of operations) {
    const place = operation.words.join(' ')
    if (taken.has(place) || isMade(program, operation.words)) continue
    taken.add(place)
    const command = commandAt(program, operation.words)
    command.description(escapeHidden(operation.summary))
    for (const name of operation.arguments)
      command.argument(`<${name}>`, escapeHidden(operation.argumentNotes[name] ?? ''))
    if (operation.file !== undefined || operation.takesUpload)
      command.argument('<file>', 'a file, or - for standard input')
    addInputArguments(command, operation)
    for (const field of listFlags(operation))
      for (const option of optionsOf(field)) command.addOption(option)
    if (operation.needsCallKey)
      command.option('--idempotency-key <text>', 'carries the call out once, made up by default')
    if (operation.fields.length > 0 || hasBody(operation))
      command.option(
        '--json <object>',
        'input as JSON, or - for standard input; flags override it',
        text => jsonObject(text === '-' ? readFileSync(0, 'utf8') : text),
      )
    // Commands that answer at once accept the flag too, so scripts need not distinguish them
    command.addOption(
      waitsByDefault(operation)
        ? new Option('--no-wait', 'return at once')
        : new Option('--wait', 'wait until it is done').hideHelp(!mayTakeLong(operation)),
    )
    if (isWatchable(operation)) command.option('--watch', 'show it again every 2 s until Ctrl-C')
    setExample(command, callText(command, operation))
    command.action(() => {
      const { wait = false, watch = false } = command.opts<Partial<RunFlags>>()
      return run(operation, readInput(operation, command), { wait, watch })
    })
  }
  for (const group of program.commands) describeGroup(program, group)
}

/** True for lists and records; files and questions to outside sources are not asked for again. */
const isWatchable = ({ method, isText }: DescribedOperation): boolean => method === 'GET' && !isText

/** Fields that are flags: those that are no argument. */
const listFlags = ({ fields, file, inputWords }: DescribedOperation): Field[] =>
  fields.filter(({ name }) => name !== file && !inputWords.includes(name))

/** Adds the fields of the body that are arguments. */
const addInputArguments = (
  command: Command,
  { fields, inputWords, pairs }: DescribedOperation,
): void => {
  const describeField = (name: string): string =>
    escapeHidden(fields.find(field => field.name === name)?.schema.description ?? '')
  for (const name of inputWords) {
    const own = fields.find(field => field.name === name)
    const list = own !== undefined && isTextList(own) ? own : undefined
    const word = list ? `${name}...` : name
    const argument = new Argument(own?.required ? `<${word}>` : `[${word}]`, describeField(name))
    const choices = list === undefined ? [] : listChoices(list)
    command.addArgument(choices.length > 0 ? argument.choices(choices) : argument)
  }
  if (pairs !== undefined) command.argument(`[${pairs}...]`, 'name=value, or one JSON object')
}

/** True for a command that this program has by hand. */
const isMade = (above: Command, words: readonly string[]): boolean => {
  const [word, ...rest] = words
  const found = above.commands.find(command => command.name() === word)
  if (found === undefined) return false
  return rest.length === 0 ? found.commands.length === 0 : isMade(found, rest)
}

/** Command at this path; missing groups above it are created. */
const commandAt = (program: Command, words: readonly string[]): Command =>
  words.reduce(
    (above, word) => above.commands.find(command => command.name() === word) ?? above.command(word),
    program,
  )

/** Describes a group by its commands; `cells` may be written as `cell`. */
const describeGroup = (program: Command, group: Command): void => {
  describe(group)
  const name = group.name()
  const singular = name.slice(0, -1)
  const taken = program.commands.flatMap(each => [each.name(), ...each.aliases()])
  if (name.endsWith('s') && group.commands.length > 0 && !taken.includes(singular))
    group.alias(singular)
}

const describe = (group: Command): void => {
  if (group.commands.length === 0) return
  for (const inner of group.commands) describe(inner)
  group.helpCommand(false)
  const names = group.commands.map(command => command.name())
  const first = FIRST.filter(name => names.includes(name))
  const others = names.filter(name => !first.includes(name))
  if (group.description() === '') group.description(listNames([...first, ...others]))
}

/** Number of commands that can be read at a glance. */
const MANY = 20
const SOME = 8

const listNames = (names: readonly string[]): string =>
  names.length <= MANY
    ? names.join(', ')
    : `${names.slice(0, SOME).join(', ')} and ${names.length - SOME} more`

/** Commands listed first. */
const FIRST = ['list', 'show']

/** Example call from the coordinator, or one with the required fields. */
const callText = (command: Command, operation: DescribedOperation): string => {
  const { example, inputWords, pairs } = operation
  if (inputWords.length > 0 || pairs !== undefined) return wordsText(command, operation)
  const words = command.registeredArguments.map(each => each.name().toUpperCase())
  const needed = listFlags(operation).filter(({ required }) => required)
  const flags = needed.map(({ name }) => `--${flagOf(name)} …`)
  const json = example === undefined ? '{}' : escapeHiddenInJson(JSON.stringify(example))
  const input = json === '{}' ? flags : ['--json', quoteWord(json)]
  return [pathOf(command), ...words, ...input].join(' ')
}

/** Example call of an operation whose input is arguments. */
const wordsText = (
  command: Command,
  { example = {}, arguments: inPath, inputWords, pairs = '' }: DescribedOperation,
): string => {
  const members = Object.entries((example[pairs] ?? {}) as Record<string, unknown>)
  return [
    pathOf(command),
    ...inPath.map(name => name.toUpperCase()),
    ...inputWords.flatMap(name => [example[name] ?? name.toUpperCase()].flat().map(quoteValue)),
    ...members.map(([name, value]) => quoteWord(`${name}=${textOf(value)}`)),
  ].join(' ')
}

const quoteValue = (value: unknown): string => quoteWord(String(value))

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)
