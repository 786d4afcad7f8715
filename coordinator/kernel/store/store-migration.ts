import type { Migration } from 'kysely/migration'

/**
 * One step of a schema. `compatibleFrom` is stored beside its name, so that a program that does not
 * know the step can read whether it may go on; see docs/architecture.md, "Changing the schema".
 */
export interface StoreMigration extends Migration {
  /**
   * First version of shoal that works with the database after this migration. Without it, only
   * programs that know the migration do.
   */
  compatibleFrom?: string
  /**
   * Removes what older versions use, and nothing needs it: it waits until no coordinator before
   * `compatibleFrom` runs.
   */
  isContraction?: true
}

/** A step of the schema that is declared beside the table that it changes. */
interface TableMigration {
  /** SQL that both engines accept; the text of a released step never changes. */
  statements: readonly string[]
  /** Oldest version that can use the changed database, as in `StoreMigration`. */
  compatibleFrom: string
}

/** Migrations by name, `0134_key_note`; names are unique in the database, and give the order. */
export type TableMigrations = Readonly<Record<string, TableMigration>>

const versions = new Intl.Collator('en', { numeric: true })

/** True for a version before another one, both `major.minor.patch`. */
export const isOlder = (version: string, than: string): boolean =>
  versions.compare(version, than) < 0
