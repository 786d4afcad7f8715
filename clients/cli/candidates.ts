import type { Command, Option } from 'commander'

interface CompletionCandidate {
  word: string
  about: string
}

/** Lets the shell complete file names. */
export const FILES: CompletionCandidate = { word: ':files', about: '' }

/** Values that are known for an argument or a flag of this name; none when they are not. */
type KnownIds = (name: string) => Promise<string[]>

/** Candidates for the word `current` after these words. */
export const completionCandidates = async (
  program: Command,
  typed: readonly string[],
  current: string,
  ids: KnownIds,
): Promise<CompletionCandidate[]> => {
  const { command, rest } = findCommand(program, typed)
  const flags = [...command.options, ...(command === program ? [] : program.options)].filter(
    ({ hidden }) => !hidden,
  )
  const [, flag = '', given] = /^(--[\w-]+)=(.*)$/s.exec(current) ?? []
  if (given !== undefined) {
    const values = await valuesOf(findOption(flags, flag), ids)
    return values.map(({ word, about }) => ({ word: `${flag}=${word}`, about }))
  }
  const before = findOption(flags, typed.at(-1) ?? '')
  if (before?.required === true) return valuesOf(before, ids)
  if (current.startsWith('-')) return flags.map(flagCandidate)
  if (command.commands.length > 0)
    return rest.length === 0 ? commandCandidates(command, current) : []
  return argumentCandidates(command, rest.length, ids)
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
  ids: KnownIds,
): Promise<CompletionCandidate[]> => {
  const all = command.registeredArguments
  const argument = all[at] ?? (all.at(-1)?.variadic === true ? all.at(-1) : undefined)
  if (argument === undefined) return []
  if (argument.argChoices !== undefined) return toCandidates(argument.argChoices)
  if (argument.name() === 'file') return [FILES]
  return toCandidates(await ids(argument.name()))
}

const valuesOf = async (
  option: Option | undefined,
  ids: KnownIds,
): Promise<CompletionCandidate[]> => {
  if (option === undefined) return []
  if (option.argChoices !== undefined) return toCandidates(option.argChoices)
  const name = option.attributeName()
  if (name === 'caFile') return [FILES]
  return toCandidates(await ids(name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)))
}

const toCandidates = (words: readonly string[]): CompletionCandidate[] =>
  words.map(word => ({ word, about: '' }))
