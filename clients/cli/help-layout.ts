import { Help, type HelpConfiguration } from 'commander'
import { formatCommandsFirst } from '../../shared/commands-first.ts'
import { groupByArea } from './areas.ts'
import { argumentTerm } from './command-example.ts'

const WIDEST_TERM = 28
const INDENT = 2
const GAP = 2
/** Indent of a description that does not fit beside its term. */
const BELOW = 6

/** Layout that fits narrow terminals too; 80 columns without a terminal. */
export const helpLayout: HelpConfiguration = {
  formatHelp: formatCommandsFirst,
  minWidthToWrap: 10,
  padWidth: (command, helper) =>
    Math.min(
      Help.prototype.padWidth.call(helper, command, helper),
      WIDEST_TERM,
      Math.floor((helper.helpWidth ?? 80) / 3),
    ),
  formatItem: (term, width, description, helper) =>
    `${' '.repeat(INDENT)}${item(term, width, description, helper)}`,
  groupItems: groupByArea,
  subcommandTerm: command =>
    [
      [command.name(), ...command.aliases()].join('|'),
      ...command.registeredArguments.map(argumentTerm),
    ].join(' '),
}

const item = (term: string, width: number, description: string, helper: Help): string => {
  if (description === '') return term
  const beside = helper.displayWidth(term) <= width
  const at = beside ? INDENT + width + GAP : BELOW
  const lines = helper.boxWrap(description, Math.max(10, (helper.helpWidth ?? 80) - at))
  const text = lines.replaceAll('\n', `\n${' '.repeat(at)}`)
  return beside ? `${term.padEnd(width + GAP)}${text}` : `${term}\n${' '.repeat(at)}${text}`
}
