import type { Command } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import { visible } from '../../shared/print.ts'
import type { Call } from './api.ts'
import type { DescribedOperation, ExitCodes } from './document.ts'
import { jsonObject, optionsOf, typedValues } from './flags.ts'

/** Adds a command for every operation: `shoal <group> <verb> <arguments> [flags]`. */
export const addOperationCommands = (
  program: Command,
  operations: readonly DescribedOperation[],
  run: (call: Call, exit: ExitCodes | undefined) => Promise<void>,
): void => {
  const taken = new Set<string>()
  for (const operation of operations) {
    const place = operation.words.join(' ')
    if (taken.has(place)) continue
    taken.add(place)
    const command = commandAt(program, operation.words)
    command.description(visible(operation.summary))
    for (const name of operation.arguments) command.argument(`<${name}>`)
    for (const field of operation.fields)
      for (const option of optionsOf(field)) command.addOption(option)
    if (operation.fields.length > 0 || hasBody(operation))
      command.option('--json <object>', 'the input as JSON; flags win over it', jsonObject)
    command.action(() => run(callOf(operation, command), operation.exit))
  }
  for (const group of program.commands) describeGroup(program, group)
}

/** The command with these words, made with the groups above it where it is not there. */
const commandAt = (program: Command, words: readonly string[]): Command =>
  words.reduce(
    (above, word) => above.commands.find(command => command.name() === word) ?? above.command(word),
    program,
  )

/** Groups say which commands they have; `cells` may be written as `cell`. */
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
  const names = group.commands.map(command => command.name()).join(', ')
  if (group.description() === '') group.description(names)
}

const hasBody = ({ method }: DescribedOperation): boolean => method === 'POST' || method === 'PUT'

const callOf = (operation: DescribedOperation, command: Command): Call => {
  const { json = {}, ...values } = command.opts<{ json?: Record<string, unknown> }>()
  const typed = typedValues(
    operation.fields,
    values,
    name => command.getOptionValueSource(name) === 'cli',
  )
  const input = { ...json, ...typed }
  const path = filled(operation, command.args)
  return hasBody(operation)
    ? { method: operation.method, path, body: input }
    : { method: operation.method, path, query: input }
}

/** The path with its arguments. `.` and `..` would be folded away on the way to the server. */
const filled = ({ path, arguments: names }: DescribedOperation, args: readonly string[]): string =>
  names.reduce((filling, name, i) => {
    const value = args[i] ?? ''
    if (value === '' || value === '.' || value === '..')
      throw new ShoalError('invalid_request', `${name} must not be ${JSON.stringify(value)}`)
    return filling.replace(`{${name}}`, () => encodeURIComponent(value))
  }, path)
