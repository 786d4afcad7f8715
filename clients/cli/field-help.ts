import type { Command, Option } from 'commander'
import { commandExample, pathOf } from './command-example.ts'
import { flagOf } from './flags.ts'

/** Help for a missing or wrong field: its flag, its purpose and an example. */
export const helpForField = (command: Command, param: string | undefined): string[] => {
  const [name = ''] = (param ?? '').split('.')
  const flag = name === '' ? undefined : `--${flagOf(name)}`
  const option = command.options.find(({ long }) => long === flag)
  if (option === undefined) return []
  const example = exampleFor(command, option, name)
  const choices =
    option.argChoices === undefined ? '' : ` (one of: ${option.argChoices.join(', ')})`
  return [
    `  ${option.flags}  ${option.description}${choices}`.trimEnd(),
    ...(example === undefined ? [] : [`  for example: ${example}`]),
  ]
}

/** Example with this field: that of the command, or one built from the field's description. */
const exampleFor = (
  command: Command,
  { long, flags, description, argChoices }: Option,
  name: string,
) => {
  const example = commandExample(command)
  if (example?.includes(`${long} `) === true || example?.includes(`"${name}"`) === true)
    return example
  const value =
    argChoices?.[0] ?? exampleIn(description) ?? VALUES.find(([kind]) => flags.includes(kind))?.[1]
  const own = listCodeSpans(description).find(text => text.startsWith(`${long} `))
  const given = own ?? (value === undefined ? undefined : `${long} ${value}`)
  const others = example === pathOf(command) ? '' : ' …'
  return given === undefined ? undefined : `${pathOf(command)}${others} ${given}`
}

/** `such as `release.major`` and `A time (`2027-01-01T00:00:00Z`)` are values. */
const exampleIn = (description: string): string | undefined =>
  /(?:such as |\()`([^`\s]+)`/.exec(description)?.[1]

const listCodeSpans = (text: string): string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, inside = '']) => inside)

const VALUES = [
  ['<number>', '10'],
  ['<text', "'some words'"],
  ['<json>', `'{"a": 1}'`],
  ['<name=value', 'site=north'],
] as const
