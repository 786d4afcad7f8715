import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { BackupFile } from './backup-catalogue.ts'

/** Name, size and checksum of a file. */
export const describeFile = async (
  folder: string,
  name: BackupFile['name'],
): Promise<BackupFile> => {
  const path = join(folder, name)
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return { name, bytes: (await stat(path)).size, sha256: hash.digest('hex') }
}

export const pathExists = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Resolves when a file or a folder is on the disk. */
export const syncToDisk = async (path: string): Promise<void> => {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
