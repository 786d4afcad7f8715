import { readFileSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import { Cron } from 'croner'
import { parseDocument } from 'yaml'
import { ShoalError } from '../../../shared/errors.ts'
import type { PrintableRows } from '../../../shared/print.ts'
import { replaceFile } from '../../../shared/replace-file.ts'
import { listBackups, listSurplus } from '../../insight/backup/backup-catalogue.ts'
import { BackupSettings } from '../../insight/backup/backup-settings.ts'
import { backupFolderOf } from '../../insight/backup/open.ts'
import type { AdminConfig } from './admin-config.ts'

interface ScheduleParts {
  config: () => AdminConfig
  env: Record<string, string | undefined>
  print: (value: PrintableRows) => void
  /** Value of `--config`. */
  configFile: () => string | undefined
}

interface ScheduleFlags {
  off?: true
  keep?: number
  folder?: string
  passphraseFile?: string
  recipient?: string[]
}

/** Command that shows the schedule of backups, or writes it into the configuration file. */
export const addScheduleCommand = (backup: Command, parts: ScheduleParts): void => {
  backup
    .command('schedule')
    .argument(
      '[cron]',
      "cron expression in UTC, such as '0 3 * * *'; without it the schedule is shown",
    )
    .description('show or set the schedule of backups; the coordinator follows after a restart')
    .option('--off', 'make no more backups by schedule')
    .option('--keep <count>', 'number of backups to keep', parseCount)
    .option('--folder <folder>', 'folder for the backups')
    .option('--passphrase-file <file>', 'file with the passphrase that seals their secrets')
    .option('--recipient <key...>', 'public keys of age that seal their secrets')
    .action(async (cron: string | undefined, flags: ScheduleFlags) => {
      if (cron === undefined && flags.off !== true)
        return parts.print(await describe(parts.config()))
      const file = parts.configFile() ?? parts.env.SHOAL_CONFIG
      if (file === undefined)
        throw new ShoalError(
          'wrong_usage',
          'the schedule is part of the configuration file: name it with --config or SHOAL_CONFIG',
        )
      writeSchedule(file, flags.off === true ? undefined : cron, flags)
      parts.print({ ...(await describe(parts.config())), next: 'restart the coordinator' })
    })
}

const parseCount = (text: string): number => {
  const count = Number(text)
  if (Number.isInteger(count) && count > 0) return count
  throw new InvalidArgumentError('it must be a whole number above 0')
}

const OPTIONS = { paused: true, timezone: 'UTC' } as const

const describe = async (config: AdminConfig) => {
  const { schedule, keep, passphrase_file, recipients } = config.backup
  const folder = backupFolderOf(config)
  const backups = await listBackups(folder)
  const cron = schedule === undefined ? undefined : new Cron(schedule, OPTIONS)
  return {
    schedule: schedule ?? 'off',
    next_at: cron?.nextRun()?.toISOString() ?? null,
    folder,
    keep,
    sealed_for:
      recipients.length > 0 ? recipients.join(', ') : (passphrase_file ?? 'no passphrase file'),
    backups: backups.length,
    surplus: listSurplus(backups, keep).length,
  }
}

/** Changes the settings in a YAML file and keeps its comments. Throws `wrong_usage` for invalid ones. */
const writeSchedule = (file: string, cron: string | undefined, flags: ScheduleFlags): void => {
  const document = parseDocument(readFileSync(file, 'utf8'))
  const values = {
    schedule: cron,
    keep: flags.keep,
    folder: flags.folder,
    passphrase_file: flags.passphraseFile,
    recipients: flags.recipient,
  }
  if (cron === undefined) document.deleteIn(['backup', 'schedule'])
  for (const [name, value] of Object.entries(values))
    if (value !== undefined) document.setIn(['backup', name], value)
  const checked = BackupSettings.safeParse(document.toJS()?.backup ?? {})
  if (!checked.success) {
    const [issue] = checked.error.issues
    throw new ShoalError('wrong_usage', `backup.${issue?.path.join('.')}: ${issue?.message}`)
  }
  replaceFile(file, String(document))
}
