import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Backup, listBackups, listSurplus } from './backup-catalogue.ts'
import { type BackupRequest, createBackup } from './create-backup.ts'
import { verifyBackup } from './verify-backup.ts'

export interface ScheduledRequest extends BackupRequest {
  keep: number
  /** Scheduled backups made since then are those of earlier attempts; Unix milliseconds. */
  since: number
}

/**
 * Makes a backup, or takes the untested one of an earlier attempt, tests it, and removes the oldest
 * ones beyond `keep`; no good one is removed while the new one fails its test. Throws as
 * `createBackup` and `verifyBackup` do.
 */
export const makeScheduled = async ({
  keep,
  since,
  ...request
}: ScheduledRequest): Promise<{ name: string; removed: number }> => {
  const { folder, stateDir, place, sealWith, now, signal } = request
  const { name, manifest } = (await findUntested(folder, since)) ?? (await createBackup(request))
  const openWith = manifest.sealed_for === 'age' ? { stateDir } : sealWith
  const listOldest = async () => listSurplus(await listBackups(folder), keep)
  try {
    await verifyBackup(join(folder, name), { place, openWith, now, signal })
  } catch (error) {
    await removeBackups(
      folder,
      (await listOldest()).filter(({ verified }) => verified?.ok !== true),
    )
    throw error
  }
  const surplus = await listOldest()
  await removeBackups(folder, surplus)
  return { name, removed: surplus.length }
}

/** Newest scheduled backup since a time that was not tested to the end. */
const findUntested = async (folder: string, since: number) => {
  for (const { name, manifest, verified } of await listBackups(folder))
    if (manifest?.is_scheduled && verified === undefined && manifest.created_at >= since)
      return { name, manifest }
  return undefined
}

const removeBackups = async (folder: string, backups: readonly Backup[]): Promise<void> => {
  for (const { name } of backups) await rm(join(folder, name), { recursive: true, force: true })
}
