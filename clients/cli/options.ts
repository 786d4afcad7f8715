import { type Command, Option } from 'commander'
import { ShoalError } from '../../shared/errors.ts'

export type Environment = Record<string, string | undefined>

/** Flags of the program itself. */
export interface GlobalOptions {
  url?: string
  key?: string
  tenant?: string
  profile?: string
  caFile?: string
  /** One of `FORMATS`, or a format of the command. */
  format: string
  version?: boolean
}

/** Formats of an answer: the first two are for people, the others for programs. */
export const FORMATS = ['text', 'table', 'json', 'yaml', 'name']

/** Format of answers that have no text of their own: `json` stands for all that programs read. */
export const formatOf = ({ format }: Pick<GlobalOptions, 'format'>): 'text' | 'json' =>
  FOR_PROGRAMS.includes(format) ? 'json' : 'text'

const FOR_PROGRAMS = ['json', 'yaml', 'name']

/** Limits a command that prints piece by piece to text and JSON. */
export const limitToLines = (command: Command): Command =>
  command.addOption(new Option('--format <format>').choices(['json']).hideHelp())

/** Throws `wrong_usage` for a format that the command does not have. */
export const requireFormat = (format: string, { options }: Command): void => {
  const own = options.find(({ long }) => long === '--format')?.argChoices
  const choices = own === undefined ? FORMATS : ['text', ...own]
  if (choices.includes(format)) return
  throw new ShoalError(
    'wrong_usage',
    `--format <format> cannot be '${format}': allowed choices are ${(own ?? FORMATS).join(', ')}`,
  )
}

/** Format among the arguments, before they are parsed: errors of parsing are printed in it too. */
export const readTypedFormat = (argv: readonly string[]): string =>
  argv.flatMap((word, i) => {
    if (['--format', '--output', '-o'].includes(word)) return argv[i + 1] ?? []
    return /^(?:--(?:format|output)=|-o=?)(?!-)(.+)$/.exec(word)?.[1] ?? []
  })[0] ?? 'text'
