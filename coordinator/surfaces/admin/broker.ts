import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { formatOutput } from '../../../shared/print.ts'
import { mosquittoFiles } from '../../fleet/broker/mosquitto-files.ts'
import { loadLogins } from '../../fleet/broker/open-bus.ts'
import type { OpenedSecrets } from '../../kernel/secrets/open-secrets.ts'
import { storePlaceOf } from '../../kernel/store/place.ts'
import { openStore, type Store } from '../../kernel/store/store.ts'
import type { AdminConfig } from './admin-config.ts'

const DEFAULT_URL = 'mqtt://127.0.0.1:1883'

/** Commands about a broker outside. Its passwords are derived from a secret in the store. */
export const addBrokerCommands = (
  program: Command,
  config: () => AdminConfig,
  openSecrets: (store: Store) => Promise<OpenedSecrets>,
  write: (text: string) => void = text => void process.stdout.write(text),
): void => {
  program
    .command('broker')
    .description('configure an external broker')
    .command('files')
    .description('write the configuration, access rules and password file of an external broker')
    .addOption(new Option('--format <format>').choices(['mosquitto']).default('mosquitto'))
    .requiredOption('--out <folder>', 'folder to write the files to')
    .action(async ({ out }: { out: string }) => {
      const settings = config()
      const store = await openStore(storePlaceOf(settings))
      try {
        const { secrets } = await openSecrets(store)
        const logins = await loadLogins(settings, secrets)
        write(formatOutput(writeFiles(resolve(out), settings, logins), 'text'))
      } finally {
        await store.close()
      }
    })
}

const writeFiles = (
  folder: string,
  config: AdminConfig,
  logins: Awaited<ReturnType<typeof loadLogins>>,
): { file: string }[] => {
  const { hostname, port } = new URL(config.broker.url ?? DEFAULT_URL)
  const files = mosquittoFiles({
    folder,
    host: hostname,
    port: Number(port) || 1883,
    coordinator: logins.coordinator,
    cells: logins.cells,
  })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return Object.entries(files).map(([name, text]) => {
    const file = join(folder, name)
    writeFileSync(file, text, { mode: 0o600 })
    return { file }
  })
}
