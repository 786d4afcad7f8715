import type { Transaction } from 'kysely'
import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { RowOf } from '../../kernel/store/define-table.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import { nextSequence } from '../../kernel/store/sequences.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { configTable, type StoredConfig } from './config.table.ts'

/** Name of the document of the scope `fleet` that operators set. */
export const FLEET = 'all'
/**
 * Name of the document of the scope `fleet` with the egress of the leading coordinator. It is not
 * merged into settings; it has a version because cells take one document of each version.
 */
export const EGRESS = 'egress'

/** Desired configuration of one cell, of all cells with a tag, or of the whole fleet. */
export type ConfigDocument = Omit<StoredConfig, 'changedBy'>

export interface ConfigChange {
  scope: ConfigDocument['scope']
  name: string
  document: Record<string, unknown>
  /** Version the caller has seen; 0 for none. Any version matches if absent. */
  ifVersion?: number
  /** Runs first in the transaction; nothing is changed when it rejects. */
  require?: (trx: SealedTrx) => Promise<void>
}

/**
 * Replaces a document, audited. Throws `conflict` when it is not at `ifVersion` any more, and what
 * `require` throws.
 */
export const writeConfig = (
  ledger: Ledger,
  { scope, name, document, ifVersion, require }: ConfigChange,
  by: Actor,
  now: number,
): Promise<ConfigDocument> =>
  ledger.sealed.write(async trx => {
    await require?.(trx)
    const before = (await rowAt(trx, scope, name))?.version ?? 0
    if (ifVersion !== undefined && ifVersion !== before)
      throw new ShoalError('conflict', `the configuration of ${name} is at version ${before}`)
    const config: StoredConfig = {
      scope,
      name,
      version: await nextSequence(trx, 'configs'),
      document,
      changedAt: now,
      changedBy: by.actor,
    }
    const row = configTable.write(config)
    await trx
      .insertInto('configs')
      .values(row)
      .onConflict(conflict => conflict.columns(['scope', 'name']).doUpdateSet(row))
      .execute()
    await bumpRevision(trx, 'configs')
    await appendAudit(trx, {
      ...by,
      at: now,
      action: `${scope}.configure`,
      subject: name,
      outcome: 'done',
      details: { version: config.version, document },
    })
    return documentOf(config)
  })

const rowAt = (trx: Transaction<LedgerTables>, scope: StoredConfig['scope'], name: string) =>
  trx
    .selectFrom('configs')
    .selectAll()
    .where('scope', '=', scope)
    .where('name', '=', name)
    .executeTakeFirst()

/**
 * Document whose content cannot be read. Its scope may be a word of a newer version; its version is 0
 * when that is damaged too.
 */
export type UnreadableConfig = Omit<ConfigDocument, 'document' | 'changedAt'> & {
  document?: undefined
  /** False when everything in it is readable and limits nothing. */
  mayLimit: boolean
}

/** Members of a document that limit nothing: without them a cell has the values of its own file. */
const HARMLESS: readonly string[] = ['telemetry', 'log', 'inference', 'spool']

const mayLimit = (json: unknown): boolean => {
  try {
    const document = configTable.columns.document_json.read(json)
    return Object.keys(document).some(member => !HARMLESS.includes(member))
  } catch {
    return true
  }
}

/** Documents changed after a version, also those that cannot be read. */
export const readConfigs = async (
  { read }: Ledger,
  after: number,
  logger: Pick<Logger, 'warn'>,
): Promise<(ConfigDocument | UnreadableConfig)[]> => {
  const rows = await read.selectFrom('configs').selectAll().where('version', '>', after).execute()
  return rows.map(row => {
    const [config] = readEach([row], configTable.read, logger)
    if (config !== undefined) return documentOf(config)
    const { scope, name } = row
    const version = Number.isSafeInteger(row.version) ? row.version : 0
    return { scope, name, version, mayLimit: mayLimit(row.document_json) }
  })
}

/**
 * Documents of cells by cell; a cell without one is absent. Throws for one that cannot be read, unless
 * `read` leaves it out.
 */
export const readCellConfigs = async (
  db: Ledger['read'],
  cellIds: readonly string[],
  read = (rows: readonly RowOf<typeof configTable>[]) => rows.map(configTable.read),
): Promise<Map<string, ConfigDocument>> => {
  if (cellIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('configs')
    .selectAll()
    .where('scope', '=', 'cell')
    .where('name', 'in', cellIds)
    .execute()
  return new Map(read(rows).map(each => [each.name, documentOf(each)]))
}

export const configKeyOf = (scope: StoredConfig['scope'], name: string): string =>
  `${scope} ${name}`

const documentOf = ({ changedBy: _, ...document }: StoredConfig): ConfigDocument => document
