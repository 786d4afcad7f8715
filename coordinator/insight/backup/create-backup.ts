import { hash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ShoalError } from '../../../shared/errors.ts'
import { VERSION } from '../../../shared/version.ts'
import { readUsageJournal } from '../../access/quota/usage-journal.ts'
import { sealingKeyPath } from '../../kernel/secrets/key-file.ts'
import type { StorePlace } from '../../kernel/store/place.ts'
import { copyDatabase, loadPostgresTools, readLastAuditRow } from '../../kernel/store/store.ts'
import {
  type BackupManifest,
  DATABASES,
  DUMP_FILE,
  JOURNAL_FILE,
  MANIFEST_FILE,
  SECRETS_FILE,
} from './backup-catalogue.ts'
import { describeFile, pathExists, requireSpace, rethrowDiskError, syncToDisk } from './files.ts'
import type { BackupSecrets } from './open-backup.ts'
import { removeLeftovers } from './remove-leftovers.ts'
import { requireSeal, type SealWith, sealText } from './seal.ts'

export interface BackupRequest {
  /** Folder that gets the backup, as a folder of its own. */
  folder: string
  stateDir: string
  /** The state folder, or the PostgreSQL database of the store. */
  place: StorePlace
  sealWith: SealWith
  isScheduled: boolean
  /** Unix milliseconds. */
  now: number
  /** Ends the programs of PostgreSQL. */
  signal?: AbortSignal | undefined
}

const rethrow = rethrowDiskError('no backup was made')

/**
 * Makes a backup while the coordinator runs, and returns its name and manifest. It appears as a whole
 * or not at all. Throws `wrong_usage` without a passphrase or recipient, `not_found` without a store,
 * its key or pg_dump, `store_unavailable` where it would fill the disk.
 */
export const createBackup = async (
  request: BackupRequest,
): Promise<{ name: string; manifest: BackupManifest }> => {
  const { folder, stateDir, place, now, sealWith } = request
  requireSeal(sealWith)
  const sealingKey = await readSealingKey(stateDir)
  const name = `backup-${new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  const target = join(folder, name)
  if (await pathExists(target)) throw new ShoalError('conflict', `backup ${name} already exists`)
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(rethrow)
  await removeLeftovers(folder, /^\.backup-/, now)
  const files = typeof place === 'string' ? DATABASES.map(file => join(place, file)) : []
  await requireSpace(folder, await sumSizes(files), 'a backup')
  const part = await mkdtemp(join(folder, '.backup-')).catch(rethrow)
  try {
    const manifest = await fillPart(part, request)
    const text = JSON.stringify(manifest, null, 2)
    const secrets: BackupSecrets = {
      sealing_key: sealingKey,
      manifest_sha256: hash('sha256', text),
    }
    await writePrivate(join(part, MANIFEST_FILE), text)
    await writePrivate(join(part, SECRETS_FILE), await sealText(JSON.stringify(secrets), sealWith))
    for (const file of [...manifest.files.map(file => file.name), MANIFEST_FILE, SECRETS_FILE])
      await syncToDisk(join(part, file))
    await rename(part, target)
    await syncToDisk(folder)
    return { name, manifest }
  } catch (error) {
    return rethrow(error)
  } finally {
    await rm(part, { recursive: true, force: true })
  }
}

const sumSizes = async (files: readonly string[]): Promise<number> => {
  let bytes = 0
  for (const file of files) bytes += (await stat(file).catch(() => ({ size: 0 }))).size
  return bytes
}

/** Writes all files but the manifest and the secrets. */
const fillPart = async (
  part: string,
  { stateDir, place, sealWith, isScheduled, now, signal }: BackupRequest,
): Promise<BackupManifest> => {
  const isFile = typeof place === 'string'
  // first of all: a row leaves the journal only when it is in the records, which are copied last
  await writePrivate(join(part, JOURNAL_FILE), await readUsageJournal(stateDir))
  if (isFile) for (const file of DATABASES) await copySqlite(join(place, file), join(part, file))
  else await (await loadPostgresTools()).dumpDatabase(place, join(part, DUMP_FILE), signal)
  const names = [...(isFile ? DATABASES : ([DUMP_FILE] as const)), JOURNAL_FILE] as const
  const files = []
  for (const name of names) files.push(await describeFile(part, name))
  return {
    format: 1,
    created_at: now,
    version: VERSION,
    is_scheduled: isScheduled,
    store: isFile ? 'sqlite' : 'postgresql',
    sealed_for: (sealWith.recipients ?? []).length > 0 ? 'age' : 'passphrase',
    files,
    audit_head: isFile ? (readLastAuditRow(join(part, DATABASES[0])) ?? null) : null,
  }
}

const copySqlite = async (from: string, to: string): Promise<void> => {
  if (!(await pathExists(from)))
    throw new ShoalError('not_found', `cannot back up ${from}: it does not exist`)
  await copyDatabase(from, to)
}

const readSealingKey = async (stateDir: string): Promise<string> => {
  const path = sealingKeyPath(stateDir)
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new ShoalError('not_found', `cannot back up ${path}: it does not exist`, { cause })
  }
}

const writePrivate = (path: string, content: string | Uint8Array): Promise<void> =>
  writeFile(path, content, { mode: 0o600 })
