import { join } from 'node:path'
import { ShoalError } from '../../shared/errors.ts'
import type { Base } from '../base/base.ts'
import type { CoordinatorConfig } from '../config.ts'
import type { OpenQueue } from '../queue/open.ts'
import type { Schedules } from '../schedules/schedules.ts'
import { storePlaceOf } from '../store/place.ts'
import { type Backup, listBackups } from './backup-catalogue.ts'
import type { BackupSettings } from './backup-settings.ts'
import type { ScheduledRequest } from './make-scheduled.ts'
import { readPassphraseFile } from './read-keys.ts'
import { createBackupKind, SCHEDULED_BACKUP } from './scheduled-backup.ts'

interface BackupViews {
  backups: {
    /** Backups in the folder of this coordinator, newest first. */
    list(): Promise<Backup[]>
    settings: BackupSettings
  }
}

type BackupConfig = Pick<CoordinatorConfig, 'state_dir' | 'store' | 'backup'>

interface BackupParts extends Pick<Base, 'logger' | 'now'> {
  config: BackupConfig
  work: Pick<OpenQueue, 'addKind'>
  recurring: Pick<Schedules, 'put' | 'remove'>
}

/** A backup that was missed for less than this is made up for. */
const GRACE_SECONDS = 30 * 24 * 3600

export const backupFolderOf = ({
  state_dir,
  backup,
}: Pick<BackupConfig, 'state_dir' | 'backup'>): string =>
  backup.folder ?? join(state_dir, 'backups')

/** Backups of the store and its secrets. Those that are scheduled are jobs of the queue. */
export const openBackup = async (parts: BackupParts): Promise<{ views: BackupViews }> => {
  const { config, work, recurring, logger } = parts
  work.addKind(
    createBackupKind({
      readRequest: () => readRequest(parts),
      onMade: made => logger.info(made, 'backup created and verified'),
    }),
  )
  // an audit in doubt must not keep the coordinator from starting
  await plan(recurring, config.backup).catch(error =>
    logger.warn({ err: error }, 'the schedule of backups was not stored'),
  )
  const folder = backupFolderOf(config)
  return { views: { backups: { list: () => listBackups(folder), settings: config.backup } } }
}

const plan = async (
  recurring: BackupParts['recurring'],
  { schedule }: BackupSettings,
): Promise<void> => {
  if (schedule === undefined)
    return recurring.remove(SCHEDULED_BACKUP).catch(error => {
      if (!(error instanceof ShoalError && error.code === 'not_found')) throw error
    })
  await recurring.put({
    name: SCHEDULED_BACKUP,
    kind: SCHEDULED_BACKUP,
    payload: {},
    expression: schedule,
    timeZone: 'UTC',
    jitterSeconds: 0,
    graceSeconds: GRACE_SECONDS,
  })
}

const readRequest = async ({
  config,
  now,
}: Pick<BackupParts, 'config' | 'now'>): Promise<Omit<ScheduledRequest, 'since'> | undefined> => {
  const { schedule, keep, recipients, passphrase_file } = config.backup
  if (schedule === undefined) return undefined
  const passphrase =
    passphrase_file === undefined || recipients.length > 0
      ? undefined
      : readPassphraseFile(passphrase_file)
  return {
    folder: backupFolderOf(config),
    stateDir: config.state_dir,
    place: storePlaceOf(config),
    sealWith: { passphrase, recipients },
    isScheduled: true,
    now: now(),
    keep,
  }
}
