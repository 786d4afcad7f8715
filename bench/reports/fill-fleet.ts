import { sql } from 'kysely'
import { METRIC_NAMES } from '../../coordinator/fleet/cells/metrics.ts'
import { cellTable } from '../../coordinator/fleet/enrolment/cell.table.ts'
import { newCell } from '../../coordinator/fleet/enrolment/enrolment.ts'
import { createToken } from '../../coordinator/fleet/enrolment/join-tokens.ts'
import { bucketOf, type Segment } from '../../coordinator/fleet/series/bucket.ts'
import { createSeriesStore, type SegmentKey } from '../../coordinator/fleet/series/series-store.ts'
import type { Store } from '../../coordinator/kernel/store/store.ts'
import { newId } from '../../shared/ids.ts'
import { DAY_MS } from '../../shared/time.ts'

const HOUR_MS = 3_600_000
const ROW_HOURS = 6
const DAYS = 30
const CELLS_PER_INSERT = 100

/**
 * Enrolled cells with the hours of their series of a month: those of the first cell are written
 * through the series store, and copied for the others.
 */
export const fillFleet = async (
  { ledger, records }: Store,
  { cells, now }: { cells: number; now: number },
): Promise<void> => {
  const { token } = await createToken(ledger, { uses: 1, ttlMinutes: 60 }, { actor: 'bench' })
  const request = { token: '', name: 'simulated', public_key: '' }
  const rows = Array.from({ length: cells }, (_, n) => {
    const own = { id: newId('cell', now), tokenId: token.id, digest: `digest-${n}`, now }
    return cellTable.write(newCell(request, own))
  })
  for (let n = 0; n < cells; n += CELLS_PER_INSERT)
    await ledger.sealed.write(trx =>
      trx
        .insertInto('cells')
        .values(rows.slice(n, n + CELLS_PER_INSERT))
        .execute(),
    )
  const [first, ...others] = rows.map(({ id }) => id)
  if (first === undefined) return
  const end = now - (now % (ROW_HOURS * HOUR_MS))
  const series: [SegmentKey, Segment][] = []
  for (let at = end - DAYS * DAY_MS; at < end; at += ROW_HOURS * HOUR_MS)
    series.push([{ cellId: first, resolutionSeconds: 3600, at }, segmentAt(at)])
  await createSeriesStore(records).add(series, new Map(), now)
  for (let n = 0; n < others.length; n += CELLS_PER_INSERT)
    await records.sealed.write(async trx => {
      for (const id of others.slice(n, n + CELLS_PER_INSERT))
        await sql`insert into series (cell_id, resolution_seconds, at, buckets_json)
          select ${id}, resolution_seconds, at, buckets_json from series
          where cell_id = ${first}`.execute(trx)
    })
  await records.sealed.write(trx =>
    sql`update power_hours set watt_hours = watt_hours * ${sql.lit(cells)},
      cells = ${sql.lit(cells)}`.execute(trx),
  )
}

const METRICS = Object.fromEntries(METRIC_NAMES.map(name => [name, 50])) as Parameters<
  typeof bucketOf
>[0]

const segmentAt = (at: number): Segment =>
  new Map(Array.from({ length: ROW_HOURS }, (_, n) => [at + n * HOUR_MS, bucketOf(METRICS)]))
