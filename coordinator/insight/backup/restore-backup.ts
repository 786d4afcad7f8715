import { chmod, copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ShoalError } from '../../../shared/errors.ts'
import { usageJournalFolder } from '../../access/quota/usage-journal.ts'
import { sealingKeyPath } from '../../kernel/secrets/key-file.ts'
import type { StorePlace } from '../../kernel/store/place.ts'
import { loadPostgresTools } from '../../kernel/store/store.ts'
import { type BackupManifest, DATABASES, DUMP_FILE, JOURNAL_FILE } from './backup-catalogue.ts'
import { pathExists, syncToDisk } from './files.ts'
import { type OpenedBackup, openBackupFiles } from './open-backup.ts'
import type { OpenWith } from './seal.ts'

interface RestoreResult {
  restored: string
  state_dir: string
  files: number
  /** What remains to be done. */
  next: string
}

/**
 * Restores a backup into a state folder without a store, and one of PostgreSQL also into the empty
 * database at `place`. Throws `conflict` where there is a store, `wrong_usage` without a passphrase or
 * key or for another engine, and `invalid_request` for a damaged backup or another passphrase. No
 * coordinator may use the folder.
 */
export const restoreBackup = async (
  path: string,
  { stateDir, place }: { stateDir: string; place: StorePlace },
  openWith: OpenWith,
): Promise<RestoreResult> => {
  const opened = await openBackupFiles(path, openWith)
  const { manifest } = opened
  await requireEmpty(stateDir)
  const isFile = manifest.store === 'sqlite'
  if (isFile && typeof place !== 'string')
    throw new ShoalError('wrong_usage', 'the backup is of SQLite: restore it without store.url')
  const address = isFile ? undefined : requireDatabase(place)
  await placeFiles(path, stateDir, opened, async () => {
    if (address === undefined) return
    const { restoreDatabase } = await loadPostgresTools()
    await restoreDatabase(address, join(path, DUMP_FILE))
  })
  return {
    restored: path,
    state_dir: stateDir,
    files: manifest.files.length,
    next: `before the first start, accept that rows of the audit which cells remember may be missing: shoal-coordinator --state-dir ${stateDir} audit accept --reason "restored the backup of ${new Date(manifest.created_at).toISOString()}"`,
  }
}

/** Throws `wrong_usage` for the folder of SQLite. */
export const requireDatabase = (place: StorePlace): Exclude<StorePlace, string> => {
  if (typeof place !== 'string') return place
  throw new ShoalError(
    'wrong_usage',
    'the backup is of PostgreSQL: name the database with --store-url or store.url',
  )
}

const requireEmpty = async (stateDir: string): Promise<void> => {
  const logs = DATABASES.flatMap(file => [`${file}-wal`, `${file}-shm`])
  for (const file of [...DATABASES, ...logs, 'sealing.key', 'usage-journal/restored.jsonl'])
    if (await pathExists(join(stateDir, file)))
      throw new ShoalError(
        'conflict',
        `${join(stateDir, file)} exists; restore into an empty folder`,
      )
}

/**
 * Puts the files of a backup in their places. The database is filled when all of them are on the disk,
 * so that after a failure the whole can be repeated. The key comes last, without which no coordinator
 * starts on them.
 */
export const placeFiles = async (
  path: string,
  stateDir: string,
  { manifest, sealingKey }: OpenedBackup,
  fillDatabase: () => Promise<void> = async () => {},
): Promise<void> => {
  await mkdir(dirname(stateDir), { recursive: true })
  await mkdir(stateDir, { recursive: true, mode: 0o700 })
  await chmod(stateDir, 0o700)
  const files = listPlaces(manifest, stateDir).map(({ name, to }) => ({
    from: join(path, name),
    to,
  }))
  const keyFile = sealingKeyPath(stateDir)
  try {
    for (const { from, to } of files) {
      await mkdir(dirname(to), { recursive: true, mode: 0o700 })
      await copyFile(from, `${to}.part`)
      await chmod(`${to}.part`, 0o600)
      await syncToDisk(`${to}.part`)
    }
    if (sealingKey !== undefined)
      await writeFile(`${keyFile}.part`, sealingKey, { mode: 0o600, flush: true })
    await fillDatabase()
    for (const { to } of files) await rename(`${to}.part`, to)
    if (sealingKey !== undefined) await rename(`${keyFile}.part`, keyFile)
  } catch (error) {
    for (const to of [...files.map(file => file.to), keyFile])
      await rm(`${to}.part`, { force: true })
    throw error
  }
}

/** Size of the files that `placeFiles` copies. */
export const sumPlacedBytes = ({ files }: BackupManifest): number =>
  files.reduce((sum, { name, bytes }) => (name === DUMP_FILE ? sum : sum + bytes), 0)

/** Places of the files that a state folder has. */
const listPlaces = ({ store }: BackupManifest, stateDir: string) => [
  ...(store === 'sqlite' ? DATABASES : []).map(name => ({ name, to: join(stateDir, name) })),
  { name: JOURNAL_FILE, to: join(usageJournalFolder(stateDir), 'restored.jsonl') },
]
