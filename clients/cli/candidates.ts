import type { Command, Option } from 'commander'

export interface Candidate {
  word: string
  about: string
}

/** Asks the shell for names of files. */
export const FILES: Candidate = { word: ':files', about: '' }

/** Values that are known for an argument or a flag of this name; none when they are not. */
export type KnownIds = (name: string) => Promise<string[]>

/** Candidates for the word `current` after these words. */
export const candidatesFor = async (
  program: Command,
  typed: readonly string[],
  current: string,
  ids: KnownIds,
): Promise<Candidate[]> => {
  const { command, rest } = walked(program, typed)
  const flags = [...command.options, ...(command === program ? [] : program.options)].filter(
    ({ hidden }) => !hidden,
  )
  const [, flag = '', given] = /^(--[\w-]+)=(.*)$/s.exec(current) ?? []
  if (given !== undefined) {
    const values = await valuesOf(named(flags, flag), ids)
    return values.map(({ word, about }) => ({ word: `${flag}=${word}`, about }))
  }
  const before = named(flags, typed.at(-1) ?? '')
  if (before?.required === true) return valuesOf(before, ids)
  if (current.startsWith('-')) return flags.map(flagCandidate)
  if (command.commands.length > 0)
    return rest.length === 0 ? commandCandidates(command, current) : []
  return argumentCandidates(command, rest.length, ids)
}

/** The deepest command that the words lead to, with those that are its arguments. */
const walked = (
  program: Command,
  typed: readonly string[],
): { command: Command; rest: string[] } => {
  let command = program
  const rest: string[] = []
  for (let i = 0; i < typed.length; i++) {
    const word = typed[i] ?? ''
    if (word.startsWith('-')) {
      const option = named([...command.options, ...program.options], word)
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

const named = (options: readonly Option[], word: string): Option | undefined =>
  options.find(({ long, short }) => word !== '' && (long === word || short === word))

const flagCandidate = ({ long, short, description }: Option): Candidate => ({
  word: long ?? short ?? '',
  about: description,
})

/** A group is offered by its singular too once that is typed, as both are its name. */
const commandCandidates = ({ commands }: Command, current: string): Candidate[] =>
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
  ids: KnownIds,
): Promise<Candidate[]> => {
  const all = command.registeredArguments
  const argument = all[at] ?? (all.at(-1)?.variadic === true ? all.at(-1) : undefined)
  if (argument === undefined) return []
  if (argument.argChoices !== undefined) return plain(argument.argChoices)
  if (argument.name() === 'file') return [FILES]
  return plain(await ids(argument.name()))
}

const valuesOf = async (option: Option | undefined, ids: KnownIds): Promise<Candidate[]> => {
  if (option === undefined) return []
  if (option.argChoices !== undefined) return plain(option.argChoices)
  const name = option.attributeName()
  if (name === 'caFile') return [FILES]
  return plain(await ids(name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)))
}

const plain = (words: readonly string[]): Candidate[] => words.map(word => ({ word, about: '' }))
