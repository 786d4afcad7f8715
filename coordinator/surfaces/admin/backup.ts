import { join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { ShoalError } from '../../../shared/errors.ts'
import { type Format, formatOutput, type PrintableRows } from '../../../shared/print.ts'
import { readHiddenLine } from '../../../shared/read-hidden-line.ts'
import { systemRuntime } from '../../../shared/runtime.ts'
import { BACKUP_NAME } from '../../insight/backup/backup-catalogue.ts'
import { createBackup } from '../../insight/backup/create-backup.ts'
import { backupFolderOf } from '../../insight/backup/open.ts'
import { readManifest } from '../../insight/backup/open-backup.ts'
import { readIdentityFile, readPassphraseFile } from '../../insight/backup/read-keys.ts'
import { restoreBackup } from '../../insight/backup/restore-backup.ts'
import type { OpenWith } from '../../insight/backup/seal.ts'
import { verifyBackup } from '../../insight/backup/verify-backup.ts'
import { storePlaceOf } from '../../kernel/store/place.ts'
import type { AdminConfig } from './admin-config.ts'
import { addScheduleCommand } from './backup-schedule.ts'
import type { RunAlone } from './on-store.ts'

interface KeyFlags {
  passphraseFile?: string
  identityFile?: string
  recipient?: string[]
}

interface BackupCommandParts {
  config: () => AdminConfig
  env: Record<string, string | undefined>
  runAlone: RunAlone
  write?: (text: string) => void
}

/** Commands that make, test, restore and schedule backups of the store and its secrets. */
export const addBackupCommands = (program: Command, parts: BackupCommandParts): void => {
  const { config, env, runAlone, write = text => void process.stdout.write(text) } = parts
  const print = (value: PrintableRows): void =>
    write(formatOutput(value, program.opts<{ format: Format }>().format))
  /** Path of a backup: a name is in the configured folder, anything else is a path. */
  const pathOf = (backup: string): string =>
    BACKUP_NAME.test(backup) ? join(backupFolderOf(config()), backup) : resolve(backup)
  const readOpenWith = async (path: string, flags: KeyFlags): Promise<OpenWith> => {
    const { manifest } = await readManifest(path)
    if (flags.identityFile !== undefined)
      return { identities: readIdentityFile(flags.identityFile) }
    return manifest.sealed_for === 'age'
      ? {}
      : { passphrase: await readPassphrase(flags, config(), env) }
  }

  const backup = program.command('backup').description('make, test, restore and schedule backups')
  backup
    .command('create')
    .description('back up the store and its secrets, also while the coordinator runs')
    .option('--folder <folder>', 'folder for the backup (default: backup.folder)')
    .addOption(passphraseOption())
    .option(
      '--recipient <key...>',
      'public keys of age (age1…) that seal the secrets in place of a passphrase (default: backup.recipients)',
    )
    .action(async (flags: KeyFlags & { folder?: string }) => {
      const settings = config()
      const folder = resolve(flags.folder ?? backupFolderOf(settings))
      const { name, manifest } = await createBackup({
        folder,
        stateDir: settings.state_dir,
        place: storePlaceOf(settings),
        sealWith: await readSealWith(flags, settings, env),
        isScheduled: false,
        now: systemRuntime.now(),
      })
      print({
        backup: join(folder, name),
        sealed_for: manifest.sealed_for,
        files: manifest.files.length,
        bytes: manifest.files.reduce((all, { bytes }) => all + bytes, 0),
      })
    })
  backup
    .command('verify')
    .argument('<backup>', 'name or path of a backup')
    .description('restore a backup into a temporary place and check it there')
    .addOption(passphraseOption())
    .addOption(identityOption())
    .action(async (name: string, flags: KeyFlags) => {
      const path = pathOf(name)
      const openWith = await readOpenWith(path, flags)
      const place = storePlaceOf(config())
      const found = await verifyBackup(path, { place, openWith, now: systemRuntime.now() })
      print({
        ok: true,
        backup: path,
        ...found,
        ...(found.audit_rows === null && { note: NOT_RESTORED }),
      })
    })
  backup
    .command('restore')
    .argument('<backup>', 'name or path of a backup')
    .description(
      'restore a backup into an empty state folder, and into an empty database at store.url; every coordinator must be stopped',
    )
    .addOption(passphraseOption())
    .addOption(identityOption())
    .action((name: string, flags: KeyFlags) =>
      runAlone(async () => {
        const settings = config()
        const path = pathOf(name)
        const openWith = await readOpenWith(path, flags)
        const to = { stateDir: settings.state_dir, place: storePlaceOf(settings) }
        print({ ...(await restoreBackup(path, to, openWith)) })
      }),
    )
  addScheduleCommand(backup, { config, env, print, configFile: () => program.opts().config })
}

const NOT_RESTORED =
  'the database was read to its end and not restored: the role may not create databases'

const passphraseOption = () =>
  new Option(
    '--passphrase-file <file>',
    'file with the passphrase of the backup (default: SHOAL_BACKUP_PASSPHRASE, then backup.passphrase_file, then a prompt)',
  )

const identityOption = () =>
  new Option('--identity-file <file>', 'file with the secret key of age that opens the backup')

type Environment = BackupCommandParts['env']

const readSealWith = async (flags: KeyFlags, settings: AdminConfig, env: Environment) => {
  const isTyped = flags.passphraseFile !== undefined || Boolean(env.SHOAL_BACKUP_PASSPHRASE)
  const recipients = flags.recipient ?? (isTyped ? [] : settings.backup.recipients)
  if (recipients.length > 0) return { recipients }
  const passphrase = await readPassphrase(flags, settings, env, { isNew: true })
  return { passphrase }
}

/** The passphrase is never an argument, which other users of the machine could read. */
const readPassphrase = async (
  { passphraseFile }: KeyFlags,
  { backup }: AdminConfig,
  env: Environment,
  { isNew = false } = {},
): Promise<string | undefined> => {
  if (passphraseFile !== undefined) return readPassphraseFile(passphraseFile)
  if (env.SHOAL_BACKUP_PASSPHRASE) return env.SHOAL_BACKUP_PASSPHRASE
  if (backup.passphrase_file !== undefined) return readPassphraseFile(backup.passphrase_file)
  if (process.stdin.isTTY !== true) return undefined
  const typed = await readHiddenLine('Passphrase of the backup: ')
  if (isNew && (await readHiddenLine('Again: ')) !== typed)
    throw new ShoalError('wrong_usage', 'the two passphrases differ')
  return typed
}
