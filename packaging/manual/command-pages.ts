import type { Command } from 'commander'
import {
  escapeRoff,
  formatParagraph,
  formatSection,
  formatTerm,
  formatVerbatim,
  pageHead,
} from './roff.ts'

interface PageFacts {
  section: 1 | 8
  /** Sections after the flags, by their heading. */
  more?: Readonly<Record<string, string>>
}

/**
 * Manual pages of a program, by their file: one for the program, and one for each of its groups, as
 * git has them (`shoal-cells.1`).
 */
export const commandPages = (
  program: Command,
  { section, more = {} }: PageFacts,
): Map<string, string> => {
  const groups = visibleCommands(program)
  const pages = groups.map((group): [string, string] => {
    const name = `${program.name()}-${group.name()}`
    return [`${name}.${section}`, groupPage(name, group, section)]
  })
  return new Map([
    [`${program.name()}.${section}`, programPage(program, groups, { section, more })],
    ...pages,
  ])
}

/** Commands to document: neither hidden ones nor `help`. */
export const visibleCommands = (command: Command): Command[] => {
  const helper = command.createHelp()
  return helper.visibleCommands(command).filter(each => each.name() !== 'help')
}

const programPage = (
  program: Command,
  groups: readonly Command[],
  { section, more = {} }: PageFacts,
): string => {
  const name = program.name()
  const list = groups.map(each =>
    formatTerm(
      `${name} ${each.name()}`,
      `${each.description()}. See ${name}-${each.name()}(${section}).`,
    ),
  )
  return [
    pageHead({ name, section, summary: firstSentence(program.description()) }),
    formatSection('SYNOPSIS', `.B ${escapeRoff(name)}\nCOMMAND [ARGUMENTS] [FLAGS]\n`),
    formatSection('DESCRIPTION', formatParagraph(program.description())),
    formatSection('COMMANDS', list.join('')),
    formatSection('FLAGS', flagsOf(program)),
    ...Object.entries(more).map(([heading, text]) => formatSection(heading, text)),
  ].join('')
}

const groupPage = (name: string, group: Command, section: 1 | 8): string => {
  const all = leavesOf(group)
  const isAlone = all.length === 1 && all[0] === group
  return [
    pageHead({ name, section, summary: firstSentence(group.description()) }),
    formatSection('SYNOPSIS', all.map(each => `.br\n${escapeRoff(usageOf(each))}\n`).join('')),
    isAlone
      ? formatSection('DESCRIPTION', describe(group))
      : formatSection(
          'COMMANDS',
          all.map(each => `.SS ${escapeRoff(pathOf(each))}\n${describe(each)}`).join(''),
        ),
    formatSection(
      'SEE ALSO',
      formatParagraph(`${programName(group)}(${section}) has the flags that all commands take.`),
    ),
  ].join('')
}

/** Commands that do something, in the order of the help. */
const leavesOf = (command: Command): Command[] => {
  const inner = visibleCommands(command)
  return inner.length === 0 ? [command] : inner.flatMap(leavesOf)
}

const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`

const programName = (command: Command): string => pathOf(command).split(' ')[0] ?? ''

const usageOf = (command: Command): string => {
  const helper = command.createHelp()
  const words = command.registeredArguments.map(argument => helper.argumentTerm(argument))
  const terms = words.map((word, i) =>
    command.registeredArguments[i]?.required === true ? `<${word}>` : `[${word}]`,
  )
  const flags = flagsOf(command) === '' ? [] : ['[FLAGS]']
  return [pathOf(command), ...terms, ...flags].join(' ')
}

const describe = (command: Command): string => {
  const helper = command.createHelp()
  const args = helper
    .visibleArguments(command)
    .map(argument =>
      formatTerm(`<${helper.argumentTerm(argument)}>`, helper.argumentDescription(argument)),
    )
  return [formatParagraph(command.description()), ...args, flagsOf(command)].join('')
}

const flagsOf = (command: Command): string => {
  const helper = command.createHelp()
  return helper
    .visibleOptions(command)
    .filter(({ long }) => command.parent === null || long !== '--help')
    .map(option => formatTerm(helper.optionTerm(option), helper.optionDescription(option)))
    .join('')
}

const firstSentence = (text: string): string =>
  (/^.*?[.:](?=\s|$)/s.exec(text)?.[0] ?? text).replace(/[.:]$/, '')

/** A page that is the help of a program. */
export const helpPage = (name: string, summary: string, help: string): string =>
  [pageHead({ name, section: 8, summary }), formatSection('USAGE', formatVerbatim(help))].join('')
