import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { Cron } from 'croner'
import type { Base } from '../base/base.ts'
import type { OpenLeader } from '../leader/open.ts'
import type { Store } from '../store/store.ts'
import { type Backup, listBackups } from './backup-catalogue.ts'
import type { BackupSettings } from './backup-settings.ts'
import type { BackupRequest } from './create-backup.ts'

interface BackupViews {
  backups: {
    /** Backups in the folder of this coordinator, newest first. */
    list(): Promise<Backup[]>
    settings: BackupSettings
  }
}

interface BackupConfig {
  state_dir: string
  backup: BackupSettings
}

interface BackupParts extends Pick<Base, 'logger' | 'now'>, Pick<OpenLeader, 'leaderWork'> {
  config: BackupConfig
  store: Pick<Store, 'isShared'>
}

const LOOK_SECONDS = 60

export const backupFolderOf = ({ state_dir, backup }: BackupConfig): string =>
  backup.folder ?? join(state_dir, 'backups')

/** Backups of the store and its secrets; the leader makes those that are scheduled. */
export const openBackup = (parts: BackupParts): { views: BackupViews } => {
  const { config, store, leaderWork, logger, now } = parts
  const { schedule, keep, passphrase_file = '' } = config.backup
  const folder = backupFolderOf(config)
  const openedAt = now()
  const makeDue = async (cron: Cron): Promise<void> => {
    const [newest] = await listBackups(folder)
    if (!isDue(cron, newest?.manifest?.created_at ?? openedAt, now())) return
    const passphrase = (await readFile(passphrase_file, 'utf8')).trimEnd()
    const made = await runInWorker({
      folder,
      stateDir: config.state_dir,
      store: store.isShared ? 'postgresql' : 'sqlite',
      passphrase,
      isScheduled: true,
      now: now(),
      keep,
    })
    logger.info(made, 'backup created and verified')
  }
  if (schedule !== undefined) {
    const cron = new Cron(schedule, { paused: true, timezone: 'UTC' })
    leaderWork.every('backup.schedule', LOOK_SECONDS, () => makeDue(cron))
  }
  return { views: { backups: { list: () => listBackups(folder), settings: config.backup } } }
}

/** True when the schedule has had an instant since the newest backup. */
export const isDue = (cron: Cron, newestAt: number, now: number): boolean => {
  const next = cron.nextRun(new Date(newestAt))
  return next !== null && next.getTime() <= now
}

/** Makes a backup in a worker thread, because checking a large database takes seconds. */
const runInWorker = async (request: BackupRequest & { keep: number }): Promise<object> => {
  const worker = new Worker(new URL('./backup-worker.ts', import.meta.url), { workerData: request })
  const { promise, resolve, reject } = Promise.withResolvers<object>()
  worker.once('message', resolve)
  worker.once('error', reject)
  worker.once('exit', code => reject(new Error(`the thread of the backup ended with ${code}`)))
  return promise
}
