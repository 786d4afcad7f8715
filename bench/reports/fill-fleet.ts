import { newCellRow } from '../../coordinator/enrolment/enrolment.ts'
import { createToken } from '../../coordinator/enrolment/join-tokens.ts'
import { bucketOf, type Segment } from '../../coordinator/fleet/bucket.ts'
import { METRIC_NAMES } from '../../coordinator/fleet/metrics.ts'
import { createSeriesStore, type SegmentKey } from '../../coordinator/fleet/series-store.ts'
import type { Store } from '../../coordinator/store/store.ts'
import { DAY_MS } from '../../shared/time.ts'

const HOUR_MS = 3_600_000
const ROW_HOURS = 6
const DAYS = 30
/** Rows of one transaction, as in the coordinator. */
const ROWS_PER_WRITE = 64
const CELLS_PER_INSERT = 100

/** Enrolled cells with the hours of their series of a month, written through the series store. */
export const fillFleet = async (
  { ledger, records }: Store,
  { cells, now }: { cells: number; now: number },
): Promise<void> => {
  const { token } = await createToken(ledger, { uses: 1, ttlMinutes: 60 }, { actor: 'bench' })
  const request = { token: '', name: 'simulated', public_key: '' }
  const rows = Array.from({ length: cells }, (_, n) =>
    newCellRow(request, token.id, `digest-${n}`, now),
  )
  for (let n = 0; n < cells; n += CELLS_PER_INSERT)
    await ledger.sealed.write(trx =>
      trx
        .insertInto('cells')
        .values(rows.slice(n, n + CELLS_PER_INSERT))
        .execute(),
    )
  const series = createSeriesStore(records)
  const end = now - (now % (ROW_HOURS * HOUR_MS))
  let batch: [SegmentKey, Segment][] = []
  for (let at = end - DAYS * DAY_MS; at < end; at += ROW_HOURS * HOUR_MS)
    for (const { id } of rows) {
      batch.push([{ cellId: id, resolutionSeconds: 3600, at }, segmentAt(at)])
      if (batch.length < ROWS_PER_WRITE) continue
      await series.add(batch, new Map(), now)
      batch = []
    }
  await series.add(batch, new Map(), now)
}

const METRICS = Object.fromEntries(METRIC_NAMES.map(name => [name, 50])) as Parameters<
  typeof bucketOf
>[0]

const segmentAt = (at: number): Segment =>
  new Map(Array.from({ length: ROW_HOURS }, (_, n) => [at + n * HOUR_MS, bucketOf(METRICS)]))
