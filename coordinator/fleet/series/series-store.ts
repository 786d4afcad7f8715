import type { Transaction } from 'kysely'
import type { Logger } from 'pino'
import { readEach } from '../../kernel/store/read-each.ts'
import type { Records } from '../../kernel/store/store.ts'
import type { RecordTables } from '../../kernel/store/tables.ts'
import { type Buckets, mergeSegment } from './bucket.ts'
import { powerHourTable } from './power-hour.table.ts'
import { type PowerHours, PowerSums } from './power-sums.ts'
import { type SegmentKey, seriesTable } from './series.table.ts'
import { seriesCellTable } from './series-cell.table.ts'

export type { SegmentKey } from './series.table.ts'

/** Storage of time series in the records. */
export interface SeriesStore {
  /**
   * Merges rows into the stored ones in one transaction, with the time of the newest late sample of
   * some cells, which shows to every coordinator which samples were counted. It never goes back,
   * except from a time after `latest`, which no right clock has.
   */
  add(rows: [SegmentKey, Buckets][], lateUntil: Map<string, number>, latest: number): Promise<void>
  /** Returns the rows of some cells that begin at `from` or later, encoded, by cell. */
  read(
    cellIds: readonly string[],
    resolutionSeconds: number,
    from: number,
  ): Promise<Map<string, string[]>>
  readLateUntil(cellIds: readonly string[]): Promise<Map<string, number>>
  /** Returns the power of all cells, of the hours that begin at `from` or later. */
  readPower(from: number): Promise<PowerHours>
  /**
   * Deletes the expired rows of the next `cells` cells after `cellId`. Returns the last of these
   * cells, or undefined when no cells are left.
   */
  prune(
    cellId: string,
    cells: number,
    limits: { resolutionSeconds: number; before: number }[],
  ): Promise<string | undefined>
}

export const createSeriesStore = (records: Records, logger?: Pick<Logger, 'warn'>): SeriesStore => {
  const add: SeriesStore['add'] = (rows, lateUntil, latest) =>
    // sealed because existing rows are read, merged and written back
    records.sealed.write(async trx => {
      const power = new PowerSums()
      const present = new Set(await insertNew(trx, rows))
      for (const row of rows) {
        const [key, segment] = row
        if (present.has(row)) await mergeRow(trx, key, segment, { power, logger })
        else if (isHourly(key)) power.add(segment)
      }
      await addPower(trx, power.hours)
      for (const [cell_id, late_until] of lateUntil)
        await trx
          .insertInto('series_cells')
          .values({ cell_id, late_until })
          .onConflict(conflict =>
            conflict
              .column('cell_id')
              .doUpdateSet({ late_until })
              .where(row =>
                row.or([
                  row('series_cells.late_until', '<', late_until),
                  row('series_cells.late_until', '>', latest),
                ]),
              ),
          )
          .execute()
    })

  const read: SeriesStore['read'] = async (cellIds, resolutionSeconds, from) => {
    const found = new Map<string, string[]>(cellIds.map(id => [id, []]))
    if (cellIds.length === 0) return found
    const rows = await records.read
      .selectFrom('series')
      .select(['cell_id', 'buckets_json'])
      .where('cell_id', 'in', cellIds)
      .where('resolution_seconds', '=', resolutionSeconds)
      .where('at', '>=', from)
      .execute()
    for (const { cell_id, buckets_json } of rows) found.get(cell_id)?.push(buckets_json)
    return found
  }

  const readLateUntil: SeriesStore['readLateUntil'] = async cellIds => {
    const query = records.read.selectFrom('series_cells').selectAll()
    const rows = await query.where('cell_id', 'in', cellIds).execute()
    return new Map(rows.map(seriesCellTable.read).map(row => [row.cellId, row.lateUntil]))
  }

  const readPower: SeriesStore['readPower'] = async from => {
    const query = records.read.selectFrom('power_hours').selectAll().where('hour_at', '>=', from)
    const rows = await query.execute()
    return new Map(rows.map(powerHourTable.read).map(({ hourAt, ...hour }) => [hourAt, hour]))
  }

  const prune: SeriesStore['prune'] = (after, cells, limits) =>
    records.free.write(async trx => {
      let last: string | undefined
      for (let i = 0, cursor = after; i < cells; i++) {
        const query = trx.selectFrom('series').select('cell_id').where('cell_id', '>', cursor)
        const next = await query.orderBy('cell_id').limit(1).executeTakeFirst()
        if (next === undefined) {
          const before = limits.find(isHourly)?.before ?? 0
          await trx.deleteFrom('power_hours').where('hour_at', '<', before).execute()
          return undefined
        }
        last = cursor = next.cell_id
        for (const { resolutionSeconds, before } of limits)
          await trx
            .deleteFrom('series')
            .where('cell_id', '=', next.cell_id)
            .where('resolution_seconds', '=', resolutionSeconds)
            .where('at', '<', before)
            .execute()
      }
      return last
    })

  return { add, read, readLateUntil, readPower, prune }
}

/**
 * Inserts the rows that are new and returns the others. Most are new, because a row is held until
 * it is full.
 */
const insertNew = async (
  trx: Transaction<RecordTables>,
  rows: [SegmentKey, Buckets][],
): Promise<[SegmentKey, Buckets][]> => {
  if (rows.length === 0) return []
  const written = await trx
    .insertInto('series')
    .values(rows.map(([key, buckets]) => seriesTable.write({ ...key, buckets })))
    .onConflict(conflict => conflict.doNothing())
    .returning(['cell_id', 'resolution_seconds', 'at'])
    .execute()
  if (written.length === rows.length) return []
  const names = new Set(written.map(seriesTable.readSome).map(nameOf))
  return rows.filter(([key]) => !names.has(nameOf(key)))
}

const nameOf = ({ cellId, resolutionSeconds, at }: SegmentKey): string =>
  `${cellId} ${resolutionSeconds} ${at}`

const isHourly = ({ resolutionSeconds }: Pick<SegmentKey, 'resolutionSeconds'>): boolean =>
  resolutionSeconds === 3600

const addPower = async (trx: Transaction<RecordTables>, hours: PowerHours): Promise<void> => {
  for (const [hourAt, { wattHours, cells }] of hours)
    await trx
      .insertInto('power_hours')
      .values(powerHourTable.write({ hourAt, wattHours, cells }))
      .onConflict(conflict =>
        conflict.column('hour_at').doUpdateSet(row => ({
          watt_hours: row('power_hours.watt_hours', '+', wattHours),
          cells: row('power_hours.cells', '+', cells),
        })),
      )
      .execute()
}

interface MergeParts {
  power: PowerSums
  logger: Pick<Logger, 'warn'> | undefined
}

/** Replaces a stored row that cannot be read: the rows after it would wait for it for ever. */
const mergeRow = async (
  trx: Transaction<RecordTables>,
  key: SegmentKey,
  segment: Buckets,
  { power, logger }: MergeParts,
): Promise<void> => {
  const row = await trx
    .selectFrom('series')
    .selectAll()
    .where('cell_id', '=', key.cellId)
    .where('resolution_seconds', '=', key.resolutionSeconds)
    .where('at', '=', key.at)
    .executeTakeFirstOrThrow()
  const [stored] = readEach([row], seriesTable.read, logger)
  const whole = mergeSegment(new Map(), stored?.buckets ?? [])
  if (isHourly(key)) power.add(whole, -1)
  mergeSegment(whole, segment)
  if (isHourly(key)) power.add(whole)
  await trx
    .updateTable('series')
    .set(seriesTable.writeSome({ buckets: whole }))
    .where('cell_id', '=', key.cellId)
    .where('resolution_seconds', '=', key.resolutionSeconds)
    .where('at', '=', key.at)
    .execute()
}
