import type { Logger } from 'pino'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import type { SealedTrx, Store } from '../../kernel/store/store.ts'
import { cellSettingsTable, type StoredSettings } from './cell-settings.table.ts'

/** Settings of a cell made by operators. */
export interface OperatorSettings {
  /** Unix time in milliseconds since which the cell gets no new requests. */
  drainedAt?: number
  labels: Record<string, string>
  /** Tenant to which the cell is dedicated; absent for a shared cell. */
  owner?: CellOwner
}

interface CellOwner {
  tenantId: string
  /** True when the tenant's requests go to no other cells. */
  exclusive: boolean
}

export interface CellSettingsStore {
  /** Each throws `not_found` for a cell that is not enrolled, or was revoked. */
  setDrained(cellId: string, drained: boolean, by: Actor): Promise<OperatorSettings>
  /** Replaces all labels. */
  setLabels(cellId: string, labels: Record<string, string>, by: Actor): Promise<OperatorSettings>
  /**
   * Dedicates the cell to a tenant, or shares it again. Throws `not_found` also for an unknown
   * tenant.
   */
  setOwner(cellId: string, owner: CellOwner | undefined, by: Actor): Promise<OperatorSettings>
  get(cellId: string): Promise<OperatorSettings>
  /**
   * Settings by cell, for cells that have any. A cell whose settings cannot be read counts as drained:
   * it may be dedicated to a tenant.
   */
  list(): Promise<Map<string, OperatorSettings>>
}

export const NO_SETTINGS: OperatorSettings = { labels: {} }

/** Settings in place of those that cannot be read: since when the cell is drained is unknown. */
const UNREADABLE: OperatorSettings = { labels: {}, drainedAt: 0 }

export const createCellSettings = (
  { ledger }: Pick<Store, 'ledger'>,
  now: () => number,
  logger?: Pick<Logger, 'warn'>,
): CellSettingsStore => {
  const change = (cellId: string, by: Actor, action: string, fields: Partial<StoredSettings>) =>
    ledger.sealed.write(async trx => {
      await requireCell(trx, cellId)
      const row = await trx
        .insertInto('cell_settings')
        .values(cellSettingsTable.write({ cellId, labels: {}, ...fields }))
        .onConflict(conflict =>
          conflict.column('cell_id').doUpdateSet(cellSettingsTable.writeSome(fields)),
        )
        .returningAll()
        .executeTakeFirstOrThrow()
      await bumpRevision(trx, 'cells')
      const settings = settingsOf(cellSettingsTable.read(row))
      const details = detailsOf(action, settings)
      await appendAudit(trx, {
        ...by,
        at: now(),
        action,
        subject: cellId,
        outcome: 'done',
        details,
      })
      return settings
    })

  return {
    setDrained: (cellId, drained, by) =>
      change(cellId, by, drained ? 'cell.drain' : 'cell.resume', {
        drainedAt: drained ? now() : undefined,
      }),
    setLabels: (cellId, labels, by) => change(cellId, by, 'cell.label', { labels }),
    setOwner: async (cellId, owner, by) => {
      if (owner !== undefined) await requireTenant(ledger, owner.tenantId)
      return change(cellId, by, owner === undefined ? 'cell.share' : 'cell.dedicate', {
        tenantId: owner?.tenantId,
        exclusive: owner?.exclusive === true,
      })
    },
    get: async cellId => {
      const query = ledger.read.selectFrom('cell_settings').selectAll()
      const row = await query.where('cell_id', '=', cellId).executeTakeFirst()
      return row === undefined ? NO_SETTINGS : settingsOf(cellSettingsTable.read(row))
    },
    list: async () => {
      const rows = await ledger.read.selectFrom('cell_settings').selectAll().execute()
      const readable = readEach(rows, cellSettingsTable.read, logger)
      return new Map([
        ...rows.map(row => [row.cell_id, UNREADABLE] as const),
        ...readable.map(own => [own.cellId, settingsOf(own)] as const),
      ])
    },
  }
}

const requireCell = async (trx: SealedTrx, cellId: string): Promise<void> => {
  const query = trx.selectFrom('cells').select('revoked_at').where('id', '=', cellId)
  const row = await query.executeTakeFirst()
  if (row === undefined || row.revoked_at !== null) throw createUnknownError('cell', cellId)
}

const requireTenant = async (ledger: Store['ledger'], tenantId: string): Promise<void> => {
  const query = ledger.read.selectFrom('tenants').select('id').where('id', '=', tenantId)
  if ((await query.executeTakeFirst()) === undefined)
    throw createUnknownError('tenant', tenantId, { param: 'tenant_id' })
}

/** Details of a change for the audit. */
const detailsOf = (
  action: string,
  { labels, owner }: OperatorSettings,
): Record<string, unknown> => {
  if (action === 'cell.label') return { labels }
  return action === 'cell.dedicate' ? { ...owner } : {}
}

const settingsOf = ({
  labels,
  drainedAt,
  tenantId,
  exclusive,
}: StoredSettings): OperatorSettings => ({
  labels,
  ...(drainedAt !== undefined && { drainedAt }),
  ...(tenantId !== undefined && { owner: { tenantId, exclusive } }),
})
