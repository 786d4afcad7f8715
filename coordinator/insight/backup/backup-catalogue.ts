import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'

export const MANIFEST_FILE = 'manifest.json'
export const SECRETS_FILE = 'secrets.age'
export const VERIFIED_FILE = 'verified.json'

/** Databases of a SQLite store. The ledger comes first, because rows reach the records first. */
export const DATABASES = ['ledger.db', 'records.db'] as const
/** Archive of a PostgreSQL database, in the custom format of pg_dump. */
export const DUMP_FILE = 'database.dump'
/** Usage that waited for its table, one row per line. */
export const JOURNAL_FILE = 'usage-journal.jsonl'

/** A file of a backup. */
const BackupFile = z.strictObject({
  name: z.enum([...DATABASES, DUMP_FILE, JOURNAL_FILE]),
  bytes: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
})
export type BackupFile = z.output<typeof BackupFile>

/** Description of a backup, beside its files. Its own checksum is among the sealed secrets. */
export const BackupManifest = z.strictObject({
  format: z.literal(1),
  /** Unix milliseconds. */
  created_at: z.int().nonnegative(),
  version: z.string(),
  /** True for one that the coordinator made by its schedule, and may remove. */
  is_scheduled: z.boolean(),
  /** Engine of the store. */
  store: z.enum(['sqlite', 'postgresql']),
  sealed_for: z.enum(['passphrase', 'age']),
  files: z.array(BackupFile),
  /** Number and hash of the last row of the audit; null without rows, and for PostgreSQL. */
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
export const BACKUP_NAME = /^backup-\d{8}T\d{6}Z$/

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

/**
 * Scheduled backups beyond the newest `keep`, of a list with the newest first. Those that passed their
 * test and the others are counted apart, so that no number of damaged ones displaces the last good
 * one. Backups that were made by hand, or whose manifest is not readable, are never surplus.
 */
export const listSurplus = (backups: readonly Backup[], keep: number): Backup[] => {
  const scheduled = backups.filter(({ manifest }) => manifest?.is_scheduled === true)
  const good = scheduled.filter(({ verified }) => verified?.ok === true)
  const others = scheduled.filter(({ verified }) => verified?.ok !== true)
  return [...good.slice(keep), ...others.slice(keep)]
}

/** Reads a JSON file; undefined when it is missing or does not match the schema. */
const readJsonFile = async <T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> => {
  try {
    return schema.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return undefined
  }
}
