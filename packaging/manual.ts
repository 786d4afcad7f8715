import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Command } from 'commander'
import { completionScripts } from '../clients/cli/completion.ts'
import { operationsOf } from '../clients/cli/document.ts'
import { addHandMade } from '../clients/cli/hand-made.ts'
import { addOperationCommands } from '../clients/cli/operation-commands.ts'
import { createProgram } from '../clients/cli/program.ts'
import { operations } from '../coordinator/surfaces/catalogue/operations.ts'
import { skills } from '../coordinator/surfaces/catalogue/skills.ts'
import { openApi } from '../coordinator/surfaces/http/openapi.ts'
import { COMMANDS_HELP } from '../daemon/cli/commands.ts'
import { DaemonConfig } from '../daemon/config.ts'
import { loadConfig } from '../shared/config.ts'
import { describeCoordinator, describeDaemon } from './completion/service-programs.ts'
import { serviceScripts } from './completion/service-scripts.ts'
import { commandPages, helpPage } from './manual/command-pages.ts'
import { formatParagraph, formatTerm } from './manual/roff.ts'

/*
 * `node packaging/manual.ts FOLDER COMMAND...`: manual pages and completion of these commands, in
 * the places where Debian has them below /usr/share. They come from the lists that make the commands.
 */

/** Files below the folder, by their path. */
export const manualFiles = async (commands: readonly string[]): Promise<Map<string, string>> => {
  const pages = new Map<string, string>()
  for (const command of commands)
    for (const [file, text] of await pagesOf(command)) pages.set(placeOf(file), text)
  for (const command of commands) {
    const { bash, zsh, fish } = completionOf(command)
    pages.set(`bash-completion/completions/${command}`, bash)
    pages.set(`zsh/vendor-completions/_${command}`, zsh)
    pages.set(`fish/vendor_completions.d/${command}.fish`, fish)
  }
  return pages
}

/** Writes the files of the commands below the folder. */
export const writeManual = async (folder: string, commands: readonly string[]): Promise<void> => {
  for (const [path, text] of await manualFiles(commands)) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true, mode: 0o755 })
    writeFileSync(file, path.endsWith('.gz') ? gzipSync(text, { level: 9 }) : text)
    chmodSync(file, 0o644)
  }
}

const completionOf = (command: string): typeof completionScripts => {
  if (command === 'shoal') return completionScripts
  return serviceScripts(command === 'shoald' ? describeDaemon() : describeCoordinator())
}

const placeOf = (file: string): string => `man/man${file.at(-1)}/${file}.gz`

const pagesOf = async (command: string): Promise<Map<string, string>> => {
  if (command === 'shoal') return commandPages(await describeClient(), { section: 1, more: CLIENT })
  if (command === 'shoal-coordinator')
    return commandPages(describeCoordinator().program, { section: 8, more: SERVICE })
  const text = [readDaemonHelp('--help'), readDaemonHelp('--help-config')].join('\n')
  return new Map([['shoald.8', helpPage('shoald', 'the daemon of a cell of a shoal fleet', text)]])
}

const readDaemonHelp = (flag: '--help' | '--help-config'): string => {
  const help = loadConfig({
    program: 'shoald',
    schema: DaemonConfig,
    argv: [flag],
    env: {},
    commands: COMMANDS_HELP,
  })
  return help.action === 'print' ? help.text : ''
}

/** The command line with every command of a coordinator of this version. */
const describeClient = async (): Promise<Command> => {
  const all = [...skills, ...operations]
  const routes = all.map(operation => ({ ...operation, access: 'key' as const, operation }))
  const program = createProgram()
  await addHandMade(program, undefined, {}, async () => {})
  addOperationCommands(
    program,
    operationsOf(await openApi(routes, 'http://127.0.0.1')),
    async () => {},
  )
  return program
}

const CLIENT = {
  ENVIRONMENT: [
    formatTerm(
      'SHOAL_URL, SHOAL_KEY, SHOAL_TENANT, SHOAL_PROFILE, SHOAL_CA_FILE',
      'as the flags of these names',
    ),
    formatTerm('NO_COLOR', 'disables colours'),
    formatTerm('SHOAL_DEBUG', 'shows where in the program an error occurred'),
  ].join(''),
  FILES: [
    formatTerm(
      '~/.config/shoal/profiles.json',
      'stored addresses and keys, readable only by their owner',
    ),
    formatTerm('~/.cache/shoal', 'the list of commands of each coordinator'),
  ].join(''),
  'EXIT STATUS': formatParagraph(
    'The status is 0 on success and that of sysexits(3) otherwise: 64 for a wrong command, 65 for wrong input, 66 for what does not exist, 69 when nothing answers, 75 for what waits or may be tried again, 77 for what is not allowed.',
  ),
}

const SERVICE = {
  FILES: formatTerm(
    '/etc/shoal/coordinator.yaml',
    'the configuration; shoal-coordinator --print-config shows every key',
  ),
}

if (import.meta.main) {
  const [folder = '.', ...commands] = process.argv.slice(2)
  await writeManual(folder, commands)
}
