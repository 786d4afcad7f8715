import { HOUR_MS } from '../../../shared/time.ts'
import type { Backup } from '../backup/backup-catalogue.ts'

/** Age from which the newest backup is overdue, where no schedule says otherwise. */
const OVERDUE_MS = 26 * HOUR_MS

export const BACKUP_STATES = ['ok', 'unverified', 'overdue', 'damaged', 'none'] as const

/** State of the backups of this coordinator. */
export interface BackupStanding {
  state: (typeof BACKUP_STATES)[number]
  newest: Backup | undefined
  ageMs: number | undefined
  /** What to do; undefined while all is well. */
  remedy: string | undefined
}

const VERIFY = 'shoal backup verify'
const CREATE = 'shoal backup create'

/** Judges the backups, newest first. */
export const judgeBackups = (backups: readonly Backup[], now: number): BackupStanding => {
  const newest = backups.find(({ manifest }) => manifest !== undefined)
  const ageMs = newest?.manifest && now - newest.manifest.created_at
  const common = { newest, ageMs }
  if (newest === undefined || ageMs === undefined)
    return { ...common, state: 'none', remedy: `Make a backup: ${CREATE}, or set backup.schedule.` }
  if (newest.verified?.ok === false)
    return { ...common, state: 'damaged', remedy: `Make another backup: ${CREATE}.` }
  if (ageMs > OVERDUE_MS)
    return {
      ...common,
      state: 'overdue',
      remedy: `Make a backup: ${CREATE}, or set backup.schedule.`,
    }
  if (newest.verified === undefined)
    return { ...common, state: 'unverified', remedy: `Test it: ${VERIFY} ${newest.name}.` }
  return { ...common, state: 'ok', remedy: undefined }
}
