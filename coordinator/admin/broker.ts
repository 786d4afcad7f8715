import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { formatOutput } from '../../shared/print.ts'
import { mosquittoFiles } from '../broker/mosquitto-files.ts'
import { configuredLogins } from '../broker/open-bus.ts'
import type { CoordinatorConfig } from '../config.ts'

const DEFAULT_URL = 'mqtt://127.0.0.1:1883'

/** Commands about a broker outside. They need the state folder, because passwords come from it. */
export const addBrokerCommands = (
  program: Command,
  config: () => CoordinatorConfig,
  write: (text: string) => void = text => void process.stdout.write(text),
): void => {
  program
    .command('broker')
    .description('configure an external broker')
    .command('files')
    .description('write the configuration, access rules and password file of an external broker')
    .addOption(new Option('--format <format>').choices(['mosquitto']).default('mosquitto'))
    .requiredOption('--out <folder>', 'folder to write the files to')
    .action(({ out }: { out: string }) =>
      write(formatOutput(writeFiles(resolve(out), config()), 'text')),
    )
}

const writeFiles = (folder: string, config: CoordinatorConfig): { file: string }[] => {
  const { hostname, port } = new URL(config.broker.url ?? DEFAULT_URL)
  const files = mosquittoFiles({
    folder,
    host: hostname,
    port: Number(port) || 1883,
    ...configuredLogins(config),
  })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return Object.entries(files).map(([name, text]) => {
    const file = join(folder, name)
    writeFileSync(file, text, { mode: 0o600 })
    return { file }
  })
}
