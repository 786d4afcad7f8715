import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'

export const MANIFEST_FILE = 'manifest.json'
export const VERIFIED_FILE = 'verified.json'

/** A file of a backup. */
const BackupFile = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9.-]*$/),
  bytes: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
})
export type BackupFile = z.output<typeof BackupFile>

/** Description of a backup, beside its files. */
export const BackupManifest = z.strictObject({
  format: z.literal(1),
  /** Unix milliseconds. */
  created_at: z.int().nonnegative(),
  version: z.string(),
  /** True for one that the coordinator made by its schedule, and may remove. */
  is_scheduled: z.boolean(),
  /** Engine of the store; the database of PostgreSQL is not part of the backup. */
  store: z.enum(['sqlite', 'postgresql']),
  files: z.array(BackupFile),
  /** Number and hash of the last row of the audit; null without a database or rows. */
  audit_head: z.strictObject({ seq: z.int(), hash: z.string() }).nullable(),
})
export type BackupManifest = z.output<typeof BackupManifest>

/** Result of the last verification of a backup. */
const Verification = z.strictObject({
  at: z.int().nonnegative(),
  ok: z.boolean(),
  reason: z.string().nullable(),
})

/** A backup in the folder of backups. */
export interface Backup {
  name: string
  /** Undefined for a folder without a readable manifest. */
  manifest: BackupManifest | undefined
  verified: z.output<typeof Verification> | undefined
}

/** Names of backups; they sort by time. */
export const BACKUP_NAME = /^backup-\d{8}T\d{6}Z(-\d+)?$/

/** Backups in a folder, newest first; none for a folder that does not exist. */
export const listBackups = async (folder: string): Promise<Backup[]> => {
  const names = await readdir(folder).catch(() => [])
  const backups = names.filter(name => BACKUP_NAME.test(name)).toSorted((a, b) => (a < b ? 1 : -1))
  return Promise.all(
    backups.map(async name => ({
      name,
      manifest: await readJsonFile(join(folder, name, MANIFEST_FILE), BackupManifest),
      verified: await readJsonFile(join(folder, name, VERIFIED_FILE), Verification),
    })),
  )
}

/** Reads a JSON file; undefined when it is missing or does not match the schema. */
const readJsonFile = async <T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> => {
  try {
    return schema.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return undefined
  }
}
