import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { listBackups, listSurplus } from './backup-catalogue.ts'
import { type BackupRequest, createBackup } from './create-backup.ts'
import { verifyBackup } from './verify-backup.ts'

export interface ScheduledRequest extends BackupRequest {
  keep: number
}

/**
 * Makes a backup, tests it, and removes the oldest ones beyond `keep`; none is removed while the new
 * one fails its test. Throws as `createBackup` and `verifyBackup` do.
 */
export const makeScheduled = async ({
  keep,
  ...request
}: ScheduledRequest): Promise<{ name: string; removed: number }> => {
  const { folder, stateDir, place, sealWith, now } = request
  const { name, manifest } = await createBackup(request)
  const openWith = manifest.sealed_for === 'age' ? { stateDir } : sealWith
  await verifyBackup(join(folder, name), { place, openWith, now })
  const surplus = listSurplus(await listBackups(folder), keep)
  for (const each of surplus) await rm(join(folder, each.name), { recursive: true, force: true })
  return { name, removed: surplus.length }
}
