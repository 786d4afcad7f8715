import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { BackupManifest, MANIFEST_FILE, SECRETS_FILE } from './backup-catalogue.ts'
import { describeFile } from './files.ts'
import { type OpenWith, openSealed, requireOpen } from './seal.ts'

/** A backup whose files are as they were made. */
export interface OpenedBackup {
  manifest: BackupManifest
  /** Text of `sealing.key`; undefined where only a coordinator's own age recipient was known. */
  sealingKey: string | undefined
}

/** Sealed part of a backup: the sealing keys of the store, and the checksum of the manifest. */
const BackupSecrets = z.strictObject({
  sealing_key: z.string(),
  manifest_sha256: z.string(),
})
export type BackupSecrets = z.output<typeof BackupSecrets>

/**
 * Opens the secrets of a backup, and checks its manifest against them and its files against the
 * manifest. Without `openWith` the secrets stay closed, and the manifest is believed. Throws
 * `not_found`, `wrong_usage` without a passphrase or key, and `invalid_request` for a damaged backup
 * or another passphrase.
 */
export const openBackupFiles = async (
  path: string,
  openWith: OpenWith | undefined,
): Promise<OpenedBackup> => {
  const { manifest, sha256 } = await readManifest(path)
  if (openWith !== undefined) requireOpen(openWith, manifest.sealed_for)
  for (const expected of manifest.files) {
    const found = await describeFile(path, expected.name).catch(() => undefined)
    if (found?.sha256 !== expected.sha256 || found.bytes !== expected.bytes)
      throw new DamagedBackupError(path, `${expected.name} is ${found ? 'changed' : 'missing'}`)
  }
  const sealed = await readFile(join(path, SECRETS_FILE)).catch(() => undefined)
  if (sealed === undefined) throw new DamagedBackupError(path, `${SECRETS_FILE} is missing`)
  if (openWith === undefined) return { manifest, sealingKey: undefined }
  const secrets = BackupSecrets.safeParse(parseJson(await openSealed(sealed, openWith)))
  if (!secrets.success) throw new DamagedBackupError(path, `${SECRETS_FILE} is not readable`)
  if (secrets.data.manifest_sha256 !== sha256)
    throw new DamagedBackupError(path, `${MANIFEST_FILE} is changed`)
  return { manifest, sealingKey: secrets.data.sealing_key }
}

/** Throws `not_found`, and `invalid_request` for one that is not as it should be. */
export const readManifest = async (
  path: string,
): Promise<{ manifest: BackupManifest; sha256: string }> => {
  const bytes = await readFile(join(path, MANIFEST_FILE)).catch(() => undefined)
  if (bytes === undefined) throw new ShoalError('not_found', `there is no backup in ${path}`)
  const manifest = BackupManifest.safeParse(parseJson(bytes.toString('utf8')))
  if (!manifest.success) throw new DamagedBackupError(path, `${MANIFEST_FILE} is not readable`)
  return { manifest: manifest.data, sha256: hash('sha256', bytes) }
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A backup whose files are not as they were made, or which cannot be restored. */
export class DamagedBackupError extends ShoalError {
  constructor(path: string, why: string, cause?: unknown) {
    super('invalid_request', `the backup ${path} is damaged: ${why}`, { cause })
  }
}
