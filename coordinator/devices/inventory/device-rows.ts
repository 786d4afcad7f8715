import type { Kysely } from 'kysely'
import type { Logger } from 'pino'
import type { RowOf } from '../../kernel/store/define-table.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { type Device, deviceTable } from './device.table.ts'
import { type DeviceClaim, deviceCellTable } from './device-cell.table.ts'

type Reading = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** Ids per statement: the number of its parameters is limited. */
const IDS_AT_ONCE = 500

/** Devices by id. One whose row cannot be read is left out: its next announcement writes it again. */
export const readDevices = async (
  db: Reading,
  ids: readonly string[],
): Promise<Map<string, Device>> => {
  const found = new Map<string, Device>()
  for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
    const some = ids.slice(at, at + IDS_AT_ONCE)
    const query = db.selectFrom('devices').selectAll().where('device_id', 'in', some)
    for (const device of readEach(await query.execute(), deviceOf, undefined))
      found.set(device.id, device)
  }
  return found
}

/** Changes of devices after a version. */
interface DeviceChanges {
  /** Ids of all changed devices, including those that cannot be read. */
  ids: string[]
  /** Devices with their newest state, the oldest change first. */
  devices: Device[]
  /** Version of the newest change; undefined without one. */
  version: number | undefined
}

export const readChangedDevices = async (
  db: Reading,
  version: number,
  logger: Pick<Logger, 'warn'>,
): Promise<DeviceChanges> => {
  const query = db.selectFrom('devices').selectAll().where('version', '>', version)
  const rows = await query.orderBy('version').execute()
  return {
    ids: rows.map(({ device_id }) => device_id),
    devices: readEach(rows, deviceOf, logger),
    version: rows.at(-1)?.version,
  }
}

export const putDevices = async (
  trx: SealedTrx,
  devices: readonly Device[],
  version: number,
): Promise<void> => {
  for (const device of devices) {
    const row = { ...device, deviceId: device.id, version }
    const { device_id, ...values } = deviceTable.write(row)
    await trx
      .insertInto('devices')
      .values({ device_id, ...values })
      .onConflict(conflict => conflict.column('device_id').doUpdateSet(values))
      .execute()
  }
}

/** Deletes devices that no cell has announced for long. */
export const deleteGoneDevices = async (trx: SealedTrx, before: number): Promise<void> => {
  await trx.deleteFrom('devices').where('gone_at', '<', before).execute()
}

/** Deletes the oldest of the devices that a cell has dropped, so that it cannot fill the table. */
export const deleteExcessGone = async (
  trx: SealedTrx,
  cellId: string,
  kept: number,
): Promise<void> => {
  const gone = trx.selectFrom('devices').select('device_id').where('cell_id', '=', cellId)
  const rows = await gone
    .where('gone_at', 'is not', null)
    .orderBy('gone_at', 'desc')
    .offset(kept)
    .limit(IDS_AT_ONCE)
    .execute()
  const ids = rows.map(row => row.device_id)
  if (ids.length > 0) await trx.deleteFrom('devices').where('device_id', 'in', ids).execute()
}

/** Claims on devices, by device. */
export const readClaims = async (
  db: Reading,
  ids: readonly string[],
): Promise<Map<string, DeviceClaim[]>> => {
  const found = new Map<string, DeviceClaim[]>()
  for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
    const some = ids.slice(at, at + IDS_AT_ONCE)
    const query = db.selectFrom('device_cells').selectAll().where('device_id', 'in', some)
    for (const row of await query.where('gone_at', 'is', null).execute())
      for (const claim of readEach([row], claimOf, undefined))
        found.set(row.device_id, [...(found.get(row.device_id) ?? []), claim])
  }
  return found
}

/** Claims of one cell, by device. */
export const readCellClaims = async (
  db: Reading,
  cellId: string,
): Promise<Map<string, DeviceClaim>> => {
  const query = db.selectFrom('device_cells').selectAll().where('cell_id', '=', cellId)
  const rows = await query.where('gone_at', 'is', null).execute()
  const claims = readEach(rows, claimOf, undefined)
  return new Map(claims.map(claim => [claim.facts.device_id, claim]))
}

export const putClaims = async (trx: SealedTrx, claims: readonly DeviceClaim[]): Promise<void> => {
  for (const claim of claims) {
    const row = { ...claim, deviceId: claim.facts.device_id, goneAt: undefined }
    const { device_id, cell_id, since, ...values } = deviceCellTable.write(row)
    await trx
      .insertInto('device_cells')
      .values({ device_id, cell_id, since, ...values })
      .onConflict(conflict => conflict.columns(['device_id', 'cell_id']).doUpdateSet(values))
      .execute()
  }
}

/** Ends claims; one that is put again before it is deleted keeps its `since`. */
export const endClaims = async (
  trx: SealedTrx,
  cellId: string,
  { ids, now }: { ids: readonly string[]; now: number },
): Promise<void> => {
  for (let at = 0; at < ids.length; at += IDS_AT_ONCE)
    await trx
      .updateTable('device_cells')
      .set({ gone_at: now })
      .where('cell_id', '=', cellId)
      .where('device_id', 'in', ids.slice(at, at + IDS_AT_ONCE))
      .execute()
}

/** Deletes the claims of a cell that ended before a time, and the oldest of too many others. */
export const deleteEndedClaims = async (
  trx: SealedTrx,
  cellId: string,
  { before, kept }: { before: number; kept: number },
): Promise<void> => {
  const ended = trx.deleteFrom('device_cells').where('cell_id', '=', cellId)
  await ended.where('gone_at', '<', before).execute()
  const rows = await trx
    .selectFrom('device_cells')
    .select('gone_at')
    .where('cell_id', '=', cellId)
    .where('gone_at', 'is not', null)
    .orderBy('gone_at', 'desc')
    .offset(kept)
    .limit(1)
    .execute()
  const [excess] = rows
  if (excess !== undefined) await ended.where('gone_at', '<=', excess.gone_at).execute()
}

/** Ids of the cells in quarantine: no coordinator lets one connect, whatever was last seen of it. */
export const readQuarantined = async (
  db: Reading,
  cellIds?: readonly string[],
): Promise<ReadonlySet<string>> => {
  let query = db.selectFrom('cells').select('id').where('quarantined_at', 'is not', null)
  if (cellIds !== undefined) query = query.where('id', 'in', cellIds)
  return new Set((await query.execute()).map(({ id }) => id))
}

/** True while a cell is enrolled; one in quarantine keeps its devices. */
export const isEnrolled = async (db: Reading, cellId: string): Promise<boolean> => {
  const query = db.selectFrom('cells').select('revoked_at').where('id', '=', cellId)
  const row = await query.executeTakeFirst()
  return row !== undefined && row.revoked_at === null
}

const claimOf = (row: RowOf<typeof deviceCellTable>): DeviceClaim => {
  const { cellId, since, kind, facts } = deviceCellTable.read(row)
  return { cellId, since, kind, facts }
}

const deviceOf = (row: RowOf<typeof deviceTable>): Device => {
  const { deviceId, version, ...device } = deviceTable.read(row)
  return { ...device, id: deviceId }
}
