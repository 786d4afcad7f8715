import { join } from 'node:path'
import type { Base } from '../../kernel/base/base.ts'
import type { OpenQueue } from '../../kernel/queue/open.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { Schedules } from '../../kernel/schedules/schedules.ts'
import { type StoreConfig, storePlaceOf } from '../../kernel/store/place.ts'
import { type Backup, listBackups } from './backup-catalogue.ts'
import type { BackupSettings } from './backup-settings.ts'
import type { ScheduledRequest } from './make-scheduled.ts'
import { readPassphraseFile } from './read-keys.ts'
import { createBackupKind, SCHEDULED_BACKUP } from './scheduled-backup.ts'

export interface BackupViews {
  backups: {
    /** Backups in the folder of this coordinator, newest first. */
    list(): Promise<Backup[]>
    settings: BackupSettings
  }
}

/** Settings of backups and of the store that they contain. */
export interface BackupConfig extends StoreConfig {
  backup: BackupSettings
}

interface BackupParts extends Pick<Base, 'logger' | 'now'> {
  config: BackupConfig
  work: Pick<OpenQueue, 'addKind'>
  recurring: Pick<Schedules, 'list' | 'put' | 'remove'>
  replicas: Pick<Replicas, 'live'>
}

/** A backup that was missed for less than this is made up for. */
const GRACE_SECONDS = 30 * 24 * 3600

const OTHERS_SCHEDULE =
  'backups are scheduled and this coordinator has no backup.schedule: give all coordinators the same settings, or remove them from all and start one alone'

export const backupFolderOf = ({
  state_dir,
  backup,
}: Pick<BackupConfig, 'state_dir' | 'backup'>): string =>
  backup.folder ?? join(state_dir, 'backups')

/** Backups of the store and its secrets. Those that are scheduled are jobs of the queue. */
export const openBackup = async (parts: BackupParts): Promise<{ views: BackupViews }> => {
  const { config, work, logger } = parts
  work.addKind(
    createBackupKind({
      readRequest: () => readRequest(parts),
      onMade: made => logger.info(made, 'backup created and verified'),
    }),
  )
  // an audit in doubt must not keep the coordinator from starting
  await planBackups(parts).catch(error =>
    logger.warn({ err: error }, 'the schedule of backups was not stored'),
  )
  const folder = backupFolderOf(config)
  return { views: { backups: { list: () => listBackups(folder), settings: config.backup } } }
}

/** Stores the schedule of the configuration; without one, removes that of an earlier start. */
const planBackups = async ({
  recurring,
  config: { backup },
  replicas,
  logger,
}: BackupParts): Promise<void> => {
  const { schedule } = backup
  if (schedule === undefined) {
    const stored = await recurring.list()
    if (!stored.some(({ name }) => name === SCHEDULED_BACKUP)) return
    if (replicas.live().length > 1) return logger.warn(OTHERS_SCHEDULE)
    return recurring.remove(SCHEDULED_BACKUP)
  }
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
