import { sql } from 'kysely'
import type { Records } from '../store/store.ts'

const HOUR_MS = 3_600_000

/** A call of an operation that has ended. */
interface EndedCall {
  operationId: string
  /** Undefined without a key. */
  tenantId: string | undefined
  durationMs: number
  failed: boolean
}

/** Sums of the calls of one operation. */
export interface CallSums {
  operationId: string
  calls: number
  errors: number
  durationMs: number
}

export interface CallQuestion {
  /** Unix milliseconds, rounded down to their hours; `from` is included, `to` is not. */
  from: number
  to: number
  /** Every tenant without it. */
  tenantId?: string | undefined
}

interface CallCount {
  hour_at: number
  tenant_id: string
  operation_id: string
  calls: number
  errors: number
  duration_ms: number
}

/**
 * Calls of operations by hour and tenant, of all coordinators on the store. They are counted in
 * memory and written from time to time; a crash loses the counts of the last seconds.
 */
export class CallHours {
  readonly #records: Pick<Records, 'free' | 'read'>
  readonly #now: () => number
  #counts = new Map<string, CallCount>()

  /** @param now Unix time, milliseconds. */
  constructor(records: Pick<Records, 'free' | 'read'>, now: () => number) {
    this.#records = records
    this.#now = now
  }

  count = ({ operationId, tenantId = '', durationMs, failed }: EndedCall): void => {
    const at = this.#now()
    this.#add({
      hour_at: at - (at % HOUR_MS),
      tenant_id: tenantId,
      operation_id: operationId,
      calls: 1,
      errors: failed ? 1 : 0,
      duration_ms: durationMs,
    })
  }

  /** Sums up to this moment by operation, the most called first. */
  read = async ({ from, to, tenantId }: CallQuestion): Promise<CallSums[]> => {
    await this.flush()
    let query = this.#records.read
      .selectFrom('call_hours')
      .where('hour_at', '>=', from - (from % HOUR_MS))
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

  /** Writes the counts. Rejects with `store_unavailable`; they are kept then. */
  async flush(): Promise<void> {
    if (this.#counts.size === 0) return
    const counts = [...this.#counts.values()]
    this.#counts = new Map()
    try {
      await this.#records.free.write(async trx => {
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
    } catch (error) {
      for (const count of counts) this.#add(count)
      throw error
    }
  }

  #add(count: CallCount): void {
    const id = [count.hour_at, count.tenant_id, count.operation_id].join(' ')
    const known = this.#counts.get(id)
    if (known === undefined) {
      this.#counts.set(id, count)
      return
    }
    known.calls += count.calls
    known.errors += count.errors
    known.duration_ms += count.duration_ms
  }
}
