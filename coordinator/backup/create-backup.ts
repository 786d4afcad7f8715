import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readFile, rename, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ShoalError } from '../../shared/errors.ts'
import { VERSION } from '../../shared/version.ts'
import { sealingKeyPath } from '../secrets/key-file.ts'
import { copyDatabase, readLastAuditRow } from '../store/store.ts'
import { type BackupFile, type BackupManifest, MANIFEST_FILE } from './backup-catalogue.ts'
import { removeLeftovers } from './remove-leftovers.ts'
import { requirePassphrase, sealBytes } from './seal.ts'

/** Databases of a SQLite store. The ledger comes first, because rows reach the records first. */
export const DATABASES = ['ledger.db', 'records.db'] as const
export const SECRETS_FILE = 'secrets.json'

export interface BackupRequest {
  /** Folder that gets the backup, as a folder of its own. */
  folder: string
  stateDir: string
  store: BackupManifest['store']
  passphrase: string | undefined
  isScheduled: boolean
  /** Unix milliseconds. */
  now: number
}

/** Free space that is left after a copy, for the store beside it. */
const RESERVE_BYTES = 64 * 1024 * 1024

/**
 * Makes a backup while the coordinator runs, and returns its name and manifest. It appears as a whole
 * or not at all. Throws `wrong_usage` without a passphrase, `not_found` without a store or its key,
 * and `store_unavailable` where a copy would fill the disk.
 */
export const createBackup = async (
  request: BackupRequest,
): Promise<{ name: string; manifest: BackupManifest }> => {
  const { folder, stateDir, store, isScheduled, now } = request
  const passphrase = requirePassphrase(request.passphrase)
  const sealingKey = await readSealingKey(stateDir)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const name = `backup-${new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  const target = join(folder, name)
  if (await pathExists(target)) throw new ShoalError('conflict', `backup ${name} already exists`)
  await removeLeftovers(folder, PART_NAME, now)
  const databases = store === 'sqlite' ? DATABASES : []
  await requireSpace(
    folder,
    databases.map(file => join(stateDir, file)),
  )
  const part = join(folder, `.${name}.part`)
  await rm(part, { recursive: true, force: true })
  await mkdir(part, { mode: 0o700 })
  try {
    for (const file of databases) {
      const from = join(stateDir, file)
      if (!(await pathExists(from)))
        throw new ShoalError('not_found', `cannot back up ${from}: it does not exist`)
      await copyDatabase(from, join(part, file))
    }
    const sealed = await sealBytes(sealingKey, passphrase)
    await writeFile(join(part, SECRETS_FILE), JSON.stringify(sealed), { mode: 0o600 })
    const manifest: BackupManifest = {
      format: 1,
      created_at: now,
      version: VERSION,
      is_scheduled: isScheduled,
      store,
      files: await Promise.all([...databases, SECRETS_FILE].map(file => describeFile(part, file))),
      audit_head: store === 'sqlite' ? (readLastAuditRow(join(part, DATABASES[0])) ?? null) : null,
    }
    await writeFile(join(part, MANIFEST_FILE), JSON.stringify(manifest, null, 2), { mode: 0o600 })
    for (const file of [...databases, SECRETS_FILE, MANIFEST_FILE])
      await syncToDisk(join(part, file))
    await rename(part, target)
    await syncToDisk(folder)
    return { name, manifest }
  } catch (error) {
    await rm(part, { recursive: true, force: true })
    throw error
  }
}

const PART_NAME = /^\.backup-.*\.part$/

/** Throws `store_unavailable` unless the disk of the folder has room for copies of the files. */
const requireSpace = async (folder: string, files: readonly string[]): Promise<void> => {
  let needed = RESERVE_BYTES
  for (const file of files) needed += (await stat(file).catch(() => ({ size: 0 }))).size
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize >= needed) return
  const free = `${Math.floor((bavail * bsize) / 1024 ** 2)} MiB are free`
  throw new ShoalError(
    'store_unavailable',
    `${folder} has no room for a backup: ${free}, and it needs ${Math.ceil(needed / 1024 ** 2)} MiB`,
  )
}

const readSealingKey = async (stateDir: string): Promise<Buffer> => {
  const path = sealingKeyPath(stateDir)
  try {
    return await readFile(path)
  } catch (cause) {
    throw new ShoalError('not_found', `cannot back up ${path}: it does not exist`, { cause })
  }
}

/** Name, size and checksum of a file. */
export const describeFile = async (folder: string, name: string): Promise<BackupFile> => {
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

const syncToDisk = async (path: string): Promise<void> => {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
