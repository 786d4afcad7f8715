import { sql } from 'kysely'
import { startOfHour } from '../../../shared/time.ts'
import { PendingSums } from '../../kernel/base/pending-sums.ts'
import type { Records } from '../../kernel/store/store.ts'
import { SUM_TABLES, USAGE_SUMS } from './usage-buckets.ts'

/** A request that was refused. */
export interface Refusal {
  /** Unix milliseconds. */
  at: number
  keyId: string
  tenantId: string
  /** Model of the catalogue; empty for a request that named none of it. */
  model: string
  /** True when no cell took the request; false for a limit that was reached, and for invalid ones. */
  isUnavailable: boolean
}

interface RefusalCount {
  hour_at: number
  key_id: string
  tenant_id: string
  model: string
  refused: number
  unavailable: number
}

/**
 * Counts refused requests in memory and adds them to the buckets of usage from time to time: a
 * client that is refused in a loop costs no write each time. A crash loses the counts of the last
 * seconds.
 */
export class Refusals {
  readonly #pending: PendingSums<'refused' | 'unavailable', RefusalCount>

  constructor(records: Pick<Records, 'free'>) {
    this.#pending = new PendingSums({
      keyOf: row => `${row.hour_at} ${row.key_id} ${row.tenant_id} ${row.model}`,
      sums: ['refused', 'unavailable'],
      write: rows => writeCounts(records, rows),
    })
  }

  count = ({ at, keyId, tenantId, model, isUnavailable }: Refusal): void =>
    this.#pending.add({
      hour_at: startOfHour(at),
      key_id: keyId,
      tenant_id: tenantId,
      model,
      refused: isUnavailable ? 0 : 1,
      unavailable: isUnavailable ? 1 : 0,
    })

  /** Writes the counts. Rejects with `store_unavailable`; the counts then wait for the next call. */
  flush = (): Promise<void> => this.#pending.flush()
}

const writeCounts = (
  records: Pick<Records, 'free'>,
  counts: readonly RefusalCount[],
): Promise<void> =>
  records.free.write(async trx => {
    for (const { hour_at, key_id, tenant_id, model, ...counted } of counts) {
      const columns = { key_id, tenant_id, model, ...NO_SUMS, ...counted }
      const names = sql.join(Object.keys(columns).map(name => sql.ref(name)))
      const values = sql.join(Object.values(columns))
      for (const { table, time, spanMs } of SUM_TABLES)
        await sql`
          insert into ${sql.table(table)} (${sql.ref(time)}, ${names})
          values (${hour_at - (hour_at % spanMs)}, ${values})
          on conflict (${sql.ref(time)}, key_id, tenant_id, model) do update set
            refused = ${sql.ref(`${table}.refused`)} + excluded.refused,
            unavailable = ${sql.ref(`${table}.unavailable`)} + excluded.unavailable`.execute(trx)
    }
  })

const NO_SUMS = Object.fromEntries(USAGE_SUMS.map(name => [name, 0])) as Record<
  (typeof USAGE_SUMS)[number],
  number
>
