import type { Actor } from '../../kernel/audit/audit.ts'
import { appendAudit } from '../../kernel/audit/audit.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { Trx } from './asking.ts'
import { findTimeAhead, setBack } from './high-water.ts'
import type { RequestEnd } from './rules.ts'

type EndRequest = (trx: Trx, id: string, change: RequestEnd, by: Actor) => Promise<void>

const SET_BACK: RequestEnd = { state: 'expired', reason: 'the clock was set back; ask again' }

/**
 * Accepts a clock of the database that was set back: requests whose remaining time is unknown end.
 * The clock of this process, which only follows that one, decides nothing.
 */
export const followClock = async (
  ledger: Ledger,
  ownNow: number,
  end: EndRequest,
): Promise<void> => {
  if ((await findTimeAhead(ledger.read, ownNow)) === undefined) return
  await ledger.sealed.write(async trx => {
    const now = await ledger.nowMs(trx)
    const doubt = await setBack(trx, now)
    if (doubt === undefined) return
    const by = { actor: 'coordinator' }
    await appendAudit(trx, {
      ...by,
      at: now,
      action: 'gate.clock_set_back',
      subject: 'gates',
      outcome: 'done',
      details: { seen_at: doubt.seen },
    })
    for (const id of doubt.ids) await end(trx, id, SET_BACK, by)
  })
}
