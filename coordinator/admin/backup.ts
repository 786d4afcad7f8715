import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import { type Format, formatOutput, type PrintableRows } from '../../shared/print.ts'
import { BACKUP_NAME } from '../backup/backup-catalogue.ts'
import { createBackup } from '../backup/create-backup.ts'
import { backupFolderOf } from '../backup/open.ts'
import { restoreBackup, verifyBackup } from '../backup/restore-backup.ts'
import type { CoordinatorConfig } from '../config.ts'
import type { RunAlone } from './on-store.ts'

interface PassphraseFlag {
  passphraseFile?: string
}

interface BackupCommandParts {
  config: () => CoordinatorConfig
  env: Record<string, string | undefined>
  runAlone: RunAlone
  write?: (text: string) => void
}

const DUMP =
  'the database is not part of this backup; back it up with pg_dump --format=custom (docs/scale.md)'

/** Commands that make, test and restore backups of the store and its secrets. */
export const addBackupCommands = (program: Command, parts: BackupCommandParts): void => {
  const { config, env, runAlone, write = text => void process.stdout.write(text) } = parts
  const print = (value: PrintableRows): void =>
    write(formatOutput(value, program.opts<{ format: Format }>().format))
  const passphrase = () =>
    new Option(
      '--passphrase-file <file>',
      'file with the passphrase that seals the secrets (default: SHOAL_BACKUP_PASSPHRASE, then backup.passphrase_file)',
    )
  const readPassphrase = ({ passphraseFile }: PassphraseFlag): string | undefined => {
    const file =
      passphraseFile ?? (env.SHOAL_BACKUP_PASSPHRASE ? undefined : config().backup.passphrase_file)
    return file === undefined ? env.SHOAL_BACKUP_PASSPHRASE : readPassphraseFile(file)
  }
  /** Path of a backup: a name is in the configured folder, anything else is a path. */
  const pathOf = (backup: string): string =>
    BACKUP_NAME.test(backup) ? join(backupFolderOf(config()), backup) : resolve(backup)

  const backup = program.command('backup').description('make, test and restore backups')
  backup
    .command('create')
    .description('back up the store and its secrets, also while the coordinator runs')
    .option('--folder <folder>', 'folder for the backup (default: backup.folder)')
    .addOption(passphrase())
    .action(async (flags: PassphraseFlag & { folder?: string }) => {
      const settings = config()
      const store = settings.store.url === undefined ? 'sqlite' : 'postgresql'
      const folder = resolve(flags.folder ?? backupFolderOf(settings))
      const { name, manifest } = await createBackup({
        folder,
        stateDir: settings.state_dir,
        store,
        passphrase: readPassphrase(flags),
        isScheduled: false,
        now: Date.now(),
      })
      print({
        backup: join(folder, name),
        files: manifest.files.length,
        bytes: manifest.files.reduce((all, { bytes }) => all + bytes, 0),
        ...(store === 'postgresql' && { note: DUMP }),
      })
    })
  backup
    .command('verify')
    .argument('<backup>', 'name or path of a backup')
    .description('restore a backup into a temporary folder and check it there')
    .addOption(passphrase())
    .action(async (name: string, flags: PassphraseFlag) => {
      const found = await verifyBackup(pathOf(name), readPassphrase(flags), Date.now())
      print({ ok: true, backup: pathOf(name), ...found })
    })
  backup
    .command('restore')
    .argument('<backup>', 'name or path of a backup')
    .description('restore a backup into an empty state folder; the coordinator must be stopped')
    .addOption(passphrase())
    .action((name: string, flags: PassphraseFlag) =>
      runAlone(async () => {
        const { state_dir } = config()
        print({ ...(await restoreBackup(pathOf(name), state_dir, readPassphrase(flags))) })
      }),
    )
}

const readPassphraseFile = (path: string): string => {
  try {
    return readFileSync(path, 'utf8').trimEnd()
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ShoalError('config_invalid', `cannot read the passphrase in ${path} (${code})`, {
      cause,
    })
  }
}
