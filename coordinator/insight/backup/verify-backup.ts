import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ShoalError } from '../../../shared/errors.ts'
import { systemRuntime } from '../../../shared/runtime.ts'
import { createUsage } from '../../access/quota/usage.ts'
import { journalUsage } from '../../access/quota/usage-journal.ts'
import { verifyAudit } from '../../kernel/audit/verify.ts'
import { sealingKeyPath } from '../../kernel/secrets/key-file.ts'
import { openSecrets } from '../../kernel/secrets/open-secrets.ts'
import { openSigning } from '../../kernel/signing/signing.ts'
import type { StorePlace } from '../../kernel/store/place.ts'
import { findDatabaseFault, loadPostgresTools, openStore } from '../../kernel/store/store.ts'
import { type BackupManifest, DATABASES, DUMP_FILE, VERIFIED_FILE } from './backup-catalogue.ts'
import { requireSpace, rethrowDiskError } from './files.ts'
import { DamagedBackupError, openBackupFiles, readManifest } from './open-backup.ts'
import { removeLeftovers } from './remove-leftovers.ts'
import { placeFiles, requireDatabase, sumPlacedBytes } from './restore-backup.ts'
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
  /** Ends the programs of PostgreSQL. */
  signal?: AbortSignal | undefined
}

interface VerifyResult {
  /** Null where the database could only be read, because the role may not create databases. */
  audit_rows: number | null
}

const rethrow = rethrowDiskError('the backup was not tested')

/**
 * Restores a backup into a temporary folder beside it, or a temporary database, and checks the store,
 * the audit, the usage that waited and the secrets there. Success and damage are noted in the backup;
 * whatever else keeps the test from its end says nothing about the backup. Throws as `restoreBackup`
 * does, and `store_unavailable` without room for the test.
 */
export const verifyBackup = async (path: string, request: VerifyRequest): Promise<VerifyResult> => {
  const { now, openWith } = request
  const { manifest } = await readManifest(path)
  if (!('stateDir' in openWith)) requireOpen(openWith, manifest.sealed_for)
  if (manifest.store === 'postgresql') requireDatabase(request.place)
  const note = (ok: boolean, reason: string | null) =>
    writeFile(join(path, VERIFIED_FILE), JSON.stringify({ at: now, ok, reason }), { mode: 0o600 })
  const beside = dirname(path)
  await removeLeftovers(beside, /^\.verify-/, now)
  await removeLeftovers(tmpdir(), /^shoal-(backup|postgres-tool)-/, now)
  await requireSpace(beside, sumPlacedBytes(manifest), 'a test restore')
  // the folder of backups may be on another machine, which must not see the key
  const keyFolder = await mkdtemp(join(tmpdir(), 'shoal-backup-')).catch(rethrow)
  const folder = await mkdtemp(join(beside, '.verify-')).catch(rethrow)
  try {
    const result = await tryRestore(path, { folder, keyFolder }, request)
    await note(true, null)
    return result
  } catch (error) {
    if (error instanceof DamagedBackupError) await note(false, error.message)
    return rethrow(error)
  } finally {
    for (const each of [folder, keyFolder]) await rm(each, { recursive: true, force: true })
  }
}

interface TestFolders {
  /** Gets the files of the backup, beside it. */
  folder: string
  /** Gets the key that opens its secrets, on this machine. */
  keyFolder: string
}

const tryRestore = async (
  path: string,
  { folder, keyFolder }: TestFolders,
  { place, openWith, now, signal }: VerifyRequest,
): Promise<VerifyResult> => {
  const isLocal = 'stateDir' in openWith
  const { manifest, sealingKey } = await openBackupFiles(path, isLocal ? undefined : openWith)
  await placeFiles(path, folder, { manifest, sealingKey: undefined })
  const keyFile = sealingKeyPath(keyFolder)
  if (isLocal) await copyFile(sealingKeyPath(openWith.stateDir), keyFile)
  else await writeFile(keyFile, sealingKey ?? '', { mode: 0o600 })
  const restored = { folder, keyFolder, place: folder }
  if (manifest.store === 'sqlite') return { audit_rows: await tryStore(path, restored, manifest) }
  const address = requireDatabase(place)
  const dump = join(path, DUMP_FILE)
  const { onScratchDatabase, readArchive, restoreDatabase } = await loadPostgresTools()
  const tryScratch = async (scratch: Exclude<StorePlace, string>) => {
    await restoreDatabase(scratch, dump, signal)
    return tryStore(path, { ...restored, place: scratch }, manifest)
  }
  const tried = await onScratchDatabase(address, tryScratch, now)
  if (tried === undefined) await readArchive(address, dump, signal)
  return { audit_rows: tried?.result ?? null }
}

/** Opens the restored store as a coordinator would; returns the number of rows of the audit. */
const tryStore = async (
  path: string,
  { folder, keyFolder, place }: TestFolders & { place: StorePlace },
  { audit_head }: BackupManifest,
): Promise<number> => {
  if (typeof place === 'string')
    for (const file of DATABASES) {
      const fault = findDatabaseFault(join(place, file))
      if (fault !== undefined) throw new DamagedBackupError(path, `${file}: ${fault}`)
    }
  const store = await openStore(place, { mustExist: true })
  try {
    const logger = { info: () => {}, warn: () => {}, error: () => {} }
    const { secrets } = await openSecrets({ store, stateDir: keyFolder, logger }).catch(error => {
      if (!(error instanceof ShoalError && error.code === 'config_invalid')) throw error
      throw new DamagedBackupError(path, error.message, error)
    })
    const { endorses } = await openSigning(secrets)
    const verdict = await verifyAudit(store.ledger, { endorses })
    if (!verdict.ok) throw new DamagedBackupError(path, `its audit is broken: ${verdict.reason}`)
    const head = audit_head?.hash ?? verdict.head.hash
    if (verdict.head.hash !== head)
      throw new DamagedBackupError(
        path,
        'its audit does not end with the row that the manifest names',
      )
    const usage = await journalUsage(createUsage(store), {
      stateDir: folder,
      logger,
      runtime: systemRuntime,
    })
    await usage.close()
    return verdict.rows
  } finally {
    await store.close()
  }
}
