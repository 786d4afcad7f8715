import { chmod, copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ShoalError } from '../../shared/errors.ts'
import { verifyAudit } from '../audit/verify.ts'
import { openSecrets } from '../secrets/open-secrets.ts'
import { openSigning } from '../signing/signing.ts'
import { findDatabaseFault, openStore } from '../store/store.ts'
import { BackupManifest, MANIFEST_FILE, VERIFIED_FILE } from './backup-catalogue.ts'
import { DATABASES, describeFile, pathExists, SECRETS_FILE } from './create-backup.ts'
import { removeLeftovers } from './remove-leftovers.ts'
import { openSealed, requirePassphrase, SealedFile } from './seal.ts'

interface Opened {
  manifest: BackupManifest
  sealingKey: Buffer
}

/**
 * Checks the files of a backup against its manifest and opens its secrets. Throws `not_found`,
 * `wrong_usage` without a passphrase, and `invalid_request` for a damaged backup or another
 * passphrase.
 */
const openBackupFiles = async (path: string, given: string | undefined): Promise<Opened> => {
  const manifest = await readManifest(path)
  const passphrase = requirePassphrase(given)
  for (const expected of manifest.files) {
    const found = await describeFile(path, expected.name).catch(() => undefined)
    if (found?.sha256 !== expected.sha256 || found.bytes !== expected.bytes)
      throw createDamagedError(path, `${expected.name} is ${found ? 'changed' : 'missing'}`)
  }
  const sealed = SealedFile.safeParse(await readJson(join(path, SECRETS_FILE)))
  if (!sealed.success) throw createDamagedError(path, `${SECRETS_FILE} is not readable`)
  return { manifest, sealingKey: await openSealed(sealed.data, passphrase) }
}

const readManifest = async (path: string): Promise<BackupManifest> => {
  const file = join(path, MANIFEST_FILE)
  if (!(await pathExists(file))) throw new ShoalError('not_found', `no backup in ${path}`)
  const manifest = BackupManifest.safeParse(await readJson(file))
  if (manifest.success) return manifest.data
  throw createDamagedError(path, `${MANIFEST_FILE} is not readable`)
}

const readJson = async (path: string): Promise<unknown> => {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch {
    return undefined
  }
}

const createDamagedError = (path: string, why: string): ShoalError =>
  new ShoalError('invalid_request', `the backup ${path} is damaged: ${why}`)

/**
 * Restores a backup into a temporary folder and checks the databases, the audit and the secrets
 * there. The result is stored beside the backup. Throws as `restoreBackup` does.
 */
export const verifyBackup = async (
  path: string,
  passphrase: string | undefined,
  now: number,
): Promise<{ audit_rows: number }> => {
  await readManifest(path)
  requirePassphrase(passphrase)
  await removeLeftovers(tmpdir(), /^shoal-backup-/, now)
  const folder = await mkdtemp(join(tmpdir(), 'shoal-backup-'))
  const note = (ok: boolean, reason: string | null) =>
    writeFile(join(path, VERIFIED_FILE), JSON.stringify({ at: now, ok, reason }), { mode: 0o600 })
  try {
    const manifest = await placeFiles(path, folder, passphrase)
    const audit_rows = manifest.store === 'sqlite' ? await checkStore(path, folder, manifest) : 0
    await note(true, null)
    return { audit_rows }
  } catch (error) {
    await note(false, (error as Error).message)
    throw error
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Opens the restored store as a coordinator does; returns the number of audit rows. */
const checkStore = async (
  path: string,
  stateDir: string,
  { audit_head }: BackupManifest,
): Promise<number> => {
  for (const file of DATABASES) {
    const fault = findDatabaseFault(join(stateDir, file))
    if (fault !== undefined) throw createDamagedError(path, `${file}: ${fault}`)
  }
  const store = await openStore(stateDir, { mustExist: true })
  try {
    const logger = { info: () => {}, warn: () => {} }
    const { secrets } = await openSecrets({ store, stateDir, logger })
    const { endorses } = await openSigning(secrets)
    const verdict = await verifyAudit(store.ledger, { endorses })
    if (!verdict.ok) throw createDamagedError(path, `its audit is broken: ${verdict.reason}`)
    const head = audit_head?.hash ?? verdict.head.hash
    if (verdict.head.hash !== head)
      throw createDamagedError(path, 'its audit does not end with the row that the manifest names')
    return verdict.rows
  } finally {
    await store.close()
  }
}

interface RestoreResult {
  restored: string
  state_dir: string
  files: number
  /** What remains to be done. */
  next: string
}

/**
 * Restores a backup into a state folder without a store. Throws `conflict` for a folder with one,
 * `invalid_request` for a damaged backup or another passphrase, and `wrong_usage` without one. No
 * coordinator may use the folder.
 */
export const restoreBackup = async (
  path: string,
  stateDir: string,
  passphrase: string | undefined,
): Promise<RestoreResult> => {
  const manifest = await placeFiles(path, stateDir, passphrase)
  const accept = `shoal-coordinator --state-dir ${stateDir} audit accept --reason "restored from ${path}"`
  const next =
    manifest.store === 'postgresql'
      ? 'restore the database with pg_restore, then start the coordinator'
      : manifest.audit_head === null
        ? 'start the coordinator'
        : `cells may remember later rows of the audit; run: ${accept}`
  return { restored: path, state_dir: stateDir, files: manifest.files.length, next }
}

/** Puts the files of a backup in their places. */
const placeFiles = async (
  path: string,
  stateDir: string,
  passphrase: string | undefined,
): Promise<BackupManifest> => {
  const { manifest, sealingKey } = await openBackupFiles(path, passphrase)
  const databases = manifest.store === 'sqlite' ? DATABASES : []
  const logs = databases.flatMap(file => [`${file}-wal`, `${file}-shm`])
  for (const file of [...databases, ...logs, 'sealing.key'])
    if (await pathExists(join(stateDir, file)))
      throw new ShoalError(
        'conflict',
        `${join(stateDir, file)} exists; restore into an empty folder`,
      )
  await mkdir(dirname(stateDir), { recursive: true })
  await mkdir(stateDir, { recursive: true, mode: 0o700 })
  await chmod(stateDir, 0o700)
  for (const file of databases) {
    const target = join(stateDir, file)
    await copyFile(join(path, file), `${target}.part`)
    await chmod(`${target}.part`, 0o600)
    await rename(`${target}.part`, target)
  }
  await writeFile(join(stateDir, 'sealing.key'), sealingKey, { mode: 0o600 })
  return manifest
}
