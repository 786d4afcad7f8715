import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ShoalError } from '../../../shared/errors.ts'
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

/** Free space that is left after a copy, for the store beside it. */
const RESERVE_BYTES = 64 * 1024 * 1024

/** Throws `store_unavailable` unless the disk of the folder has room for copies of so many bytes. */
export const requireSpace = async (
  folder: string,
  bytes: number,
  purpose: 'a backup' | 'a test restore',
): Promise<void> => {
  const needed = RESERVE_BYTES + bytes
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize >= needed) return
  const free = `${Math.floor((bavail * bsize) / 1024 ** 2)} MiB are free`
  throw new ShoalError(
    'store_unavailable',
    `${folder} has no room for ${purpose}: ${free}, and it needs ${Math.ceil(needed / 1024 ** 2)} MiB`,
  )
}

const FULL = ['ENOSPC', 'EDQUOT']

/**
 * Rethrows an error; one of the file system becomes `store_unavailable`, after the words for what has
 * failed.
 */
export const rethrowDiskError =
  (what: string) =>
  (cause: unknown): never => {
    const { code = '', syscall } = cause as NodeJS.ErrnoException
    const isFull = FULL.includes(code)
    if (!isFull && syscall === undefined) throw cause
    const why = isFull ? 'the disk is full' : `a file cannot be read or written (${code})`
    throw new ShoalError('store_unavailable', `${what}: ${why}`, { cause })
  }
