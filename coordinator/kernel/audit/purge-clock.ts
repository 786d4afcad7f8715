import type { Kysely } from 'kysely'
import { DAY_MS } from '../../../shared/time.ts'
import type { Ledger } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'

/**
 * The time the purge goes by. The clock of a machine can be set forward by mistake, and rows would
 * go years too early; so this one counts only time that has been lived through: the running time of
 * processes, and pauses between them of a week at most. It is never ahead of the wall clock by more
 * than that week, which `BELIEVED_DAYS` of extra retention make good.
 */
export interface PurgeClock {
  /** Unix milliseconds; undefined while the wall clock stands before a time that was seen. */
  tick(): Promise<number | undefined>
}

interface PurgeClockParts {
  ledger: Ledger
  /** Unix time by the wall clock, milliseconds. */
  now: () => number
  /** Milliseconds of a clock that never goes back and cannot be set. */
  nowMs: () => number
}

/** A machine that was off for longer than this keeps its rows longer by that time. */
export const BELIEVED_DAYS = 7
const NAME = 'audit_purge'
/** Clocks of the machines of one service differ by that much at most. */
const TOLERANCE_MS = 5000

export const openPurgeClock = async (parts: PurgeClockParts): Promise<PurgeClock> => {
  const { ledger, now, nowMs } = parts
  const startedMs = nowMs()
  const wall = now()
  const known = (await readClocks(ledger.read)).own ?? (await newestRowAt(ledger.read)) ?? wall
  const startedAt = wall - known > BELIEVED_DAYS * DAY_MS ? known : wall

  const tick = (): Promise<number | undefined> =>
    ledger.sealed.write(async trx => {
      const { own = 0, highest } = await readClocks(trx)
      if (now() < highest - TOLERANCE_MS) return undefined
      const at = Math.max(own, Math.floor(Math.min(startedAt + nowMs() - startedMs, now())))
      await trx
        .insertInto('clocks')
        .values({ name: NAME, at })
        .onConflict(conflict => conflict.column('name').doUpdateSet({ at }))
        .execute()
      return at
    })
  return { tick }
}

type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** The time of the last tick, and the latest time that anybody else has put on record. */
const readClocks = async (db: Reader): Promise<{ own: number | undefined; highest: number }> => {
  const rows = await db.selectFrom('clocks').selectAll().execute()
  const others = rows.filter(({ name }) => name !== NAME).map(({ at }) => at)
  return { own: rows.find(({ name }) => name === NAME)?.at, highest: Math.max(0, ...others) }
}

const newestRowAt = async (db: Reader): Promise<number | undefined> => {
  const row = await db
    .selectFrom('audit')
    .select('at')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.at
}
