import { sql } from 'kysely'
import { startOfHour } from '../../../shared/time.ts'
import { PendingSums } from '../../kernel/base/pending-sums.ts'
import type { Records } from '../../kernel/store/store.ts'
import type { RecordTables } from '../../kernel/store/tables.ts'
import type { EndedCall } from './call-stats.ts'

/** Sums of the calls of one operation. */
interface CallSums {
  operationId: string
  calls: number
  errors: number
  durationMs: number
}

interface CallQuestion {
  /** Unix milliseconds, rounded down to their hours; `from` is included, `to` is not. */
  from: number
  to: number
  /** Tenant of the calls; undefined for the calls of all tenants. */
  tenantId?: string | undefined
}

type CallCount = RecordTables['call_hours']

/**
 * Calls of operations by hour and tenant, of all coordinators on the store. They are counted in
 * memory and written from time to time; a crash loses the counts of the last seconds.
 */
export class CallHours {
  readonly #records: Pick<Records, 'read'>
  readonly #now: () => number
  readonly #pending: PendingSums<'calls' | 'errors' | 'duration_ms', CallCount>

  /** @param now Unix time, milliseconds. */
  constructor(records: Pick<Records, 'free' | 'read'>, now: () => number) {
    this.#records = records
    this.#now = now
    this.#pending = new PendingSums({
      keyOf: row => `${row.hour_at} ${row.tenant_id} ${row.operation_id}`,
      sums: ['calls', 'errors', 'duration_ms'],
      write: rows => writeCounts(records, rows),
    })
  }

  count = ({ operationId, tenantId = '', durationMs, failed }: EndedCall): void => {
    const at = this.#now()
    this.#pending.add({
      hour_at: startOfHour(at),
      tenant_id: tenantId,
      operation_id: operationId,
      calls: 1,
      errors: failed ? 1 : 0,
      duration_ms: durationMs,
    })
  }

  /** Sums of calls by operation up to this moment, the most called first. */
  read = async ({ from, to, tenantId }: CallQuestion): Promise<CallSums[]> => {
    await this.flush()
    let query = this.#records.read
      .selectFrom('call_hours')
      .where('hour_at', '>=', startOfHour(from))
      .where('hour_at', '<', to)
    if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId)
    return query
      .select([
        'operation_id as operationId',
        sql<number>`cast(sum(calls) as bigint)`.as('calls'),
        sql<number>`cast(sum(errors) as bigint)`.as('errors'),
        sql<number>`cast(sum(duration_ms) as bigint)`.as('durationMs'),
      ])
      .groupBy('operation_id')
      .orderBy('calls', 'desc')
      .orderBy('operation_id')
      .execute()
  }

  /** Writes the counts. Rejects with `store_unavailable`; the counts then wait for the next call. */
  flush = (): Promise<void> => this.#pending.flush()
}

const writeCounts = (records: Pick<Records, 'free'>, counts: readonly CallCount[]): Promise<void> =>
  records.free.write(async trx => {
    for (const count of counts)
      await trx
        .insertInto('call_hours')
        .values({ ...count, duration_ms: Math.round(count.duration_ms) })
        .onConflict(conflict =>
          conflict.columns(['hour_at', 'tenant_id', 'operation_id']).doUpdateSet({
            calls: sql<number>`call_hours.calls + excluded.calls`,
            errors: sql<number>`call_hours.errors + excluded.errors`,
            duration_ms: sql<number>`call_hours.duration_ms + excluded.duration_ms`,
          }),
        )
        .execute()
  })
