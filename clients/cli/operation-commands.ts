import { readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import { escapeHidden, escapeHiddenInJson } from '../../shared/visible.ts'
import type { ApiCall } from './api.ts'
import { pathOf, quoteWord, setExample } from './command-example.ts'
import type { DescribedOperation } from './document.ts'
import { flagOf, jsonObject, optionsOf, typedValues } from './flags.ts'
import { mayTakeLong } from './follow.ts'

/** Adds a command for every operation: `shoal <group> <verb> <arguments> [flags]`. */
export const addOperationCommands = (
  program: Command,
  operations: readonly DescribedOperation[],
  run: (call: ApiCall, operation: DescribedOperation, wait: boolean) => Promise<void>,
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
    if (operation.file !== undefined) command.argument('<file>', 'a file, or - for standard input')
    for (const field of operation.fields.filter(({ name }) => name !== operation.file))
      for (const option of optionsOf(field)) command.addOption(option)
    if (operation.fields.length > 0 || hasBody(operation))
      command.option('--json <object>', 'input as JSON; flags override it', jsonObject)
    // Commands that answer at once accept the flag too, so scripts need not distinguish them
    command.addOption(
      new Option('--wait', 'wait until it is done').hideHelp(!mayTakeLong(operation)),
    )
    setExample(command, callText(command, operation))
    command.action(() => {
      const { wait } = command.opts<{ wait?: boolean }>()
      return run(callOf(operation, command), operation, wait === true)
    })
  }
  for (const group of program.commands) describeGroup(program, group)
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

const hasBody = ({ method }: DescribedOperation): boolean => method === 'POST' || method === 'PUT'

const callOf = (operation: DescribedOperation, command: Command): ApiCall => {
  const { json = {}, ...values } = command.opts<{ json?: Record<string, unknown> }>()
  const typed = typedValues(
    operation.fields,
    values,
    name => command.getOptionValueSource(name) === 'cli',
  )
  const input = { ...json, ...typed, ...fileOf(operation, command.args) }
  const path = fillPath(operation, command.args)
  if (!hasBody(operation)) return { method: operation.method, path, query: input }
  const inQuery = operation.fields.filter(({ place }) => place === 'query').map(({ name }) => name)
  const entries = Object.entries(input)
  const query = Object.fromEntries(entries.filter(([name]) => inQuery.includes(name)))
  const body = Object.fromEntries(entries.filter(([name]) => !inQuery.includes(name)))
  return { method: operation.method, path, body, ...(inQuery.length > 0 ? { query } : {}) }
}

/** Example call from the coordinator, or one with the required fields. */
const callText = (command: Command, { example, fields, file }: DescribedOperation): string => {
  const words = command.registeredArguments.map(each => each.name().toUpperCase())
  const needed = fields.filter(({ name, required }) => required && name !== file)
  const flags = needed.map(({ name }) => `--${flagOf(name)} …`)
  const json = example === undefined ? '{}' : escapeHiddenInJson(JSON.stringify(example))
  const input = json === '{}' ? flags : ['--json', quoteWord(json)]
  return [pathOf(command), ...words, ...input].join(' ')
}

/** The text of the file that the last argument names. */
const fileOf = ({ file }: DescribedOperation, args: readonly string[]): object => {
  if (file === undefined) return {}
  const name = args.at(-1) ?? ''
  try {
    return { [file]: readFileSync(name === '-' ? 0 : name, 'utf8') }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ShoalError('invalid_request', `cannot read ${name} (${code})`, { cause })
  }
}

/**
 * Fills the arguments into the path. `.` and `..` are rejected, because servers would resolve them.
 */
const fillPath = (
  { path, arguments: names }: DescribedOperation,
  args: readonly string[],
): string =>
  names.reduce((filling, name, i) => {
    const value = args[i] ?? ''
    if (value === '' || value === '.' || value === '..')
      throw new ShoalError('invalid_request', `${name} must not be ${JSON.stringify(value)}`)
    return filling.replace(`{${name}}`, () => encodeURIComponent(value))
  }, path)
