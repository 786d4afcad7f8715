import { Argument, Command, Option } from 'commander'
import { CoordinatorConfig } from '../../coordinator/config.ts'
import { createAdminProgram } from '../../coordinator/surfaces/admin/administer.ts'
import { commands } from '../../daemon/cli/commands.ts'
import { DaemonConfig } from '../../daemon/config.ts'
import { listConfigFlags } from '../../shared/config.ts'

/** A program that serves unless it gets a command. */
export interface ServiceProgram {
  /** Holds the commands of the service; its own flags are those that every command takes too. */
  program: Command
  /** Flags that it takes without a command only. */
  alone: Option[]
}

const PRINTING = [
  new Option('--help', 'list the commands'),
  new Option('--help-config', 'list the flags of the configuration'),
  new Option('--print-config', 'show every key with its value, default and other names'),
  new Option('--version', 'show the version'),
]

export const describeCoordinator = (): ServiceProgram => {
  const program = createAdminProgram(
    { schema: CoordinatorConfig, program: 'shoal-coordinator', more: '', command: 'help' },
    {},
  )
  return { program, alone: [...listConfigOptions(CoordinatorConfig), ...PRINTING] }
}

export const describeDaemon = (): ServiceProgram => {
  const program = new Command('shoald').option('--config <file>', 'configuration file')
  for (const option of listConfigOptions(DaemonConfig)) program.addOption(option)
  for (const [name, { help }] of commands)
    addDescribed(program.command(name).description(help.summary), help.flags)
  const retune = new Option('--retune', 'measure again how many slots and threads serve best')
  return { program, alone: [retune, ...PRINTING] }
}

const listConfigOptions = (schema: Parameters<typeof listConfigFlags>[0]): Option[] =>
  listConfigFlags(schema).map(({ flag, description, choices }) => {
    const placeholder = /-(file|dir|folder)$/.test(flag) ? 'file' : 'value'
    const option = new Option(`${flag} <${placeholder}>`, description)
    return choices.length > 0 ? option.choices(choices) : option
  })

/** Adds what the help of a command of the daemon lists: `--format text|json   how to print`. */
const addDescribed = (command: Command, lines: readonly string[]): void => {
  const words: string[] = []
  for (const line of lines) {
    const [, word, flag, value, about = ''] =
      /^(?:([a-z]+)|(--[\w-]+)(?: (\S+))?) {2,}(\S.*)$/.exec(line) ?? []
    if (word !== undefined) words.push(word)
    if (flag === undefined) continue
    const option = new Option(
      value === undefined ? flag : `${flag} <${value.toLowerCase()}>`,
      about,
    )
    command.addOption(value?.includes('|') ? option.choices(value.split('|')) : option)
  }
  if (words.length > 0) command.addArgument(new Argument('[word]').choices(words))
}
