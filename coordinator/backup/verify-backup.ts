import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verifyAudit } from '../audit/verify.ts'
import { createUsage } from '../quota/usage.ts'
import { journalUsage } from '../quota/usage-journal.ts'
import { sealingKeyPath } from '../secrets/key-file.ts'
import { openSecrets } from '../secrets/open-secrets.ts'
import { openSigning } from '../signing/signing.ts'
import type { StorePlace } from '../store/place.ts'
import { findDatabaseFault, loadPostgresTools, openStore } from '../store/store.ts'
import { type BackupManifest, DATABASES, DUMP_FILE, VERIFIED_FILE } from './backup-catalogue.ts'
import { createDamagedError, openBackupFiles, readManifest } from './open-backup.ts'
import { removeLeftovers } from './remove-leftovers.ts'
import { placeFiles, requireDatabase } from './restore-backup.ts'
import { type OpenWith, requireOpen } from './seal.ts'

interface VerifyRequest {
  /** Names the server of PostgreSQL on which the test restore may make a database. */
  place: StorePlace
  /**
   * What opens the secrets, or the state folder of the coordinator that made the backup: then
   * everything is tested but that the secrets can be opened.
   */
  openWith: OpenWith | { stateDir: string }
  /** Unix milliseconds. */
  now: number
}

interface VerifyResult {
  /** Null where the database could only be read, because the role may not create databases. */
  audit_rows: number | null
}

/**
 * Restores a backup into a temporary folder, or a temporary database, and checks the store, the
 * audit, the usage that waited and the secrets there. The result is noted beside the backup. Throws
 * as `restoreBackup` does.
 */
export const verifyBackup = async (path: string, request: VerifyRequest): Promise<VerifyResult> => {
  const { now, openWith } = request
  const { manifest } = await readManifest(path)
  if (!('stateDir' in openWith)) requireOpen(openWith, manifest.sealed_for)
  if (manifest.store === 'postgresql') requireDatabase(request.place)
  const note = (ok: boolean, reason: string | null) =>
    writeFile(join(path, VERIFIED_FILE), JSON.stringify({ at: now, ok, reason }), { mode: 0o600 })
  await removeLeftovers(tmpdir(), /^shoal-(backup|postgres-tool)-/, now)
  const folder = await mkdtemp(join(tmpdir(), 'shoal-backup-'))
  try {
    const result = await tryRestore(path, folder, request)
    await note(true, null)
    return result
  } catch (error) {
    await note(false, (error as Error).message)
    throw error
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const tryRestore = async (
  path: string,
  folder: string,
  { place, openWith }: VerifyRequest,
): Promise<VerifyResult> => {
  const isLocal = 'stateDir' in openWith
  const opened = await openBackupFiles(path, isLocal ? undefined : openWith)
  await placeFiles(path, folder, opened)
  if (isLocal) await copyFile(sealingKeyPath(openWith.stateDir), sealingKeyPath(folder))
  const { manifest } = opened
  if (manifest.store === 'sqlite')
    return { audit_rows: await tryStore(path, { stateDir: folder, place: folder }, manifest) }
  const address = requireDatabase(place)
  const dump = join(path, DUMP_FILE)
  const { onScratchDatabase, readArchive, restoreDatabase } = await loadPostgresTools()
  const tried = await onScratchDatabase(address, async scratch => {
    await restoreDatabase(scratch, dump)
    return tryStore(path, { stateDir: folder, place: scratch }, manifest)
  })
  if (tried === undefined) await readArchive(address, dump)
  return { audit_rows: tried?.result ?? null }
}

/** Opens the restored store as a coordinator would; returns the number of rows of the audit. */
const tryStore = async (
  path: string,
  { stateDir, place }: { stateDir: string; place: StorePlace },
  { audit_head }: BackupManifest,
): Promise<number> => {
  if (typeof place === 'string')
    for (const file of DATABASES) {
      const fault = findDatabaseFault(join(place, file))
      if (fault !== undefined) throw createDamagedError(path, `${file}: ${fault}`)
    }
  const store = await openStore(place, { mustExist: true })
  try {
    const logger = { info: () => {}, warn: () => {}, error: () => {} }
    const { secrets } = await openSecrets({ store, stateDir, logger })
    const { endorses } = await openSigning(secrets)
    const verdict = await verifyAudit(store.ledger, { endorses })
    if (!verdict.ok) throw createDamagedError(path, `its audit is broken: ${verdict.reason}`)
    const head = audit_head?.hash ?? verdict.head.hash
    if (verdict.head.hash !== head)
      throw createDamagedError(path, 'its audit does not end with the row that the manifest names')
    const usage = await journalUsage(createUsage(store), { stateDir, logger })
    await usage.close()
    return verdict.rows
  } finally {
    await store.close()
  }
}
