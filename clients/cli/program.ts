import { Command, Option } from 'commander'
import { helpLayout } from './help-layout.ts'
import { FORMATS, type GlobalOptions, requireFormat } from './options.ts'
import { DEFAULT_URL } from './settings.ts'

/** The program with its own flags and without its commands. */
export const createProgram = (): Command =>
  new Command('shoal')
    .description('Manage a shoal coordinator. Most commands are generated from its API.')
    .exitOverride()
    .configureOutput({ outputError: () => {} })
    .configureHelp(helpLayout)
    .helpCommand('help [command...]', 'show help for a command')
    .option('--url <url>', `URL of the coordinator, or SHOAL_URL (default: ${DEFAULT_URL})`)
    .option('--key <key>', 'API key, or SHOAL_KEY; - reads it from standard input')
    .option('--tenant <id>', 'the tenant to act for, or SHOAL_TENANT')
    .option('--profile <name>', 'profile stored by shoal login, or SHOAL_PROFILE')
    .option('--ca-file <file>', 'certificate authority to trust, PEM, or SHOAL_CA_FILE')
    .addOption(
      new Option('-o, --format <format>', 'output format')
        .choices(FORMATS)
        .default('text')
        // a command may have formats of its own: the hook checks them
        .argParser(String),
    )
    .addOption(createFormatAlias())
    .hook('preAction', (above, command) =>
      requireFormat(above.opts<GlobalOptions>().format, command),
    )
    .option('-V, --version', 'show the versions of this program and of the coordinator')

/** `--output`, the name of the flag in other programs that have `-o`. */
const createFormatAlias = (): Option => {
  const alias = new Option('--output <format>').hideHelp()
  return Object.assign(alias, { attributeName: () => 'format' })
}
