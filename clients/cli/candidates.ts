import type { Argument, Command, Option } from 'commander'
import { escapeHidden } from '../../shared/visible.ts'
import { groupOf } from './command-example.ts'
import type { KnownObject } from './known-ids.ts'

export interface CompletionCandidate {
  word: string
  about: string
}

/** Lets the shell complete file names. */
export const FILES: CompletionCandidate = { word: ':files', about: '' }

/** Line for a shell: the word, and the beginning of its description after a tab. */
export const formatCandidate = ({ word, about }: CompletionCandidate): string =>
  about === '' ? word : `${word}\t${escapeHidden(about).slice(0, 60)}`

/** Values of an argument or a flag that are known without a coordinator; undefined for others. */
export const listFixedValues = (
  { argChoices }: Argument | Option,
  placeholder: string,
): CompletionCandidate[] | undefined => {
  if (argChoices !== undefined) return argChoices.map(word => ({ word, about: '' }))
  return PATHS.includes(placeholder) ? [FILES] : undefined
}

/** Placeholders of names of files and folders. */
const PATHS = ['file', 'folder', 'backup']

/** `file` of a flag `--ca-file <file>`; empty for a switch. */
export const placeholderOf = ({ flags }: Option): string => /[<[]([\w-]+)/.exec(flags)?.[1] ?? ''

/** Place of a value: the group and the name of its command, and the arguments before it. */
export interface ValuePlace {
  group: string
  verb: string
  inPath: Record<string, string>
}

/** Objects that an argument or a flag of this name can take; none when they are not known. */
type KnownAt = (name: string, place: ValuePlace) => Promise<KnownObject[]>

/** Candidates for the word `current` after these words. */
export const completionCandidates = async (
  program: Command,
  typed: readonly string[],
  current: string,
  known: KnownAt,
): Promise<CompletionCandidate[]> => {
  const { command, rest } = findCommand(program, typed)
  const place = placeOf(command, rest)
  const flags = [...command.options, ...(command === program ? [] : program.options)].filter(
    ({ hidden }) => !hidden,
  )
  const [, flag = '', given] = /^(--[\w-]+)=(.*)$/s.exec(current) ?? []
  if (given !== undefined) {
    const values = await valuesOf(findOption(flags, flag), place, known)
    return values.map(({ word, about }) => ({ word: `${flag}=${word}`, about }))
  }
  const before = findOption(flags, typed.at(-1) ?? '')
  if (before?.required === true) return valuesOf(before, place, known)
  if (current.startsWith('-')) return flags.map(flagCandidate)
  if (command.commands.length > 0)
    return rest.length === 0 ? commandCandidates(command, current) : []
  return argumentCandidates(command, rest.length, place, known)
}

/** The deepest command that the words lead to, with those that are its arguments. */
const findCommand = (
  program: Command,
  typed: readonly string[],
): { command: Command; rest: string[] } => {
  let command = program
  const rest: string[] = []
  for (let i = 0; i < typed.length; i++) {
    const word = typed[i] ?? ''
    if (word.startsWith('-')) {
      const option = findOption([...command.options, ...program.options], word)
      if (option?.required === true) i += 1
      continue
    }
    const next = command.commands.find(
      each => each.name() === word || each.aliases().includes(word),
    )
    if (next === undefined) rest.push(word)
    else command = next
  }
  return { command, rest }
}

const findOption = (options: readonly Option[], word: string): Option | undefined =>
  options.find(({ long, short }) => word !== '' && (long === word || short === word))

const flagCandidate = ({ long, short, description }: Option): CompletionCandidate => ({
  word: long ?? short ?? '',
  about: description,
})

/** A group is offered by its singular too once that is typed, as both are its name. */
const commandCandidates = ({ commands }: Command, current: string): CompletionCandidate[] =>
  commands
    .filter(each => !each.name().startsWith('_'))
    .map(each => {
      const names = [each.name(), ...each.aliases()]
      const word = names.find(name => name.startsWith(current)) ?? each.name()
      return { word, about: each.description() }
    })

const argumentCandidates = async (
  command: Command,
  at: number,
  place: ValuePlace,
  known: KnownAt,
): Promise<CompletionCandidate[]> => {
  const all = command.registeredArguments
  const argument = all[at] ?? (all.at(-1)?.variadic === true ? all.at(-1) : undefined)
  if (argument === undefined) return []
  const fixed = listFixedValues(argument, argument.name())
  return fixed ?? objectCandidates(await known(argument.name(), place))
}

const valuesOf = async (
  option: Option | undefined,
  place: ValuePlace,
  known: KnownAt,
): Promise<CompletionCandidate[]> => {
  if (option === undefined) return []
  const fixed = listFixedValues(option, placeholderOf(option))
  if (fixed !== undefined) return fixed
  const field = option.attributeName().replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
  return objectCandidates(await known(field, place))
}

/** Ids with the names that they have, and the names, which are accepted in their place. */
const objectCandidates = (known: readonly KnownObject[]): CompletionCandidate[] => [
  ...known.map(({ id, name = '' }) => ({ word: id, about: name })),
  ...known.flatMap(({ id, name }) => (name === undefined ? [] : [{ word: name, about: id }])),
]

const placeOf = (command: Command, rest: readonly string[]): ValuePlace => ({
  group: groupOf(command).name(),
  verb: command.name(),
  inPath: Object.fromEntries(
    command.registeredArguments.flatMap((argument, i) => {
      const word = rest[i]
      return word === undefined ? [] : [[argument.name(), word]]
    }),
  ),
})
