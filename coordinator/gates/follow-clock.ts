import { appendAudit } from '../audit/audit.ts'
import type { Ledger } from '../store/store.ts'
import { applyChange } from './apply.ts'
import { findTimeAhead, setBack } from './high-water.ts'
import type { GateRequest } from './request.ts'
import { readRequest } from './rows.ts'
import type { RequestChange } from './rules.ts'

const SET_BACK: RequestChange = { state: 'expired', reason: 'the clock was set back; ask again' }

/**
 * Accepts a clock that was set back: requests whose remaining time is unknown end. Returns these
 * requests, each before and after.
 */
export const followClock = async (
  ledger: Ledger,
  now: number,
): Promise<[GateRequest, GateRequest][]> => {
  if ((await findTimeAhead(ledger.read, now)) === undefined) return []
  return ledger.sealed.write(async trx => {
    const doubt = await setBack(trx, now)
    if (doubt === undefined) return []
    const by = { actor: 'coordinator', at: now }
    await appendAudit(trx, {
      ...by,
      action: 'gate.clock_set_back',
      subject: 'gates',
      outcome: 'done',
      details: { seen_at: doubt.seen },
    })
    const ended: [GateRequest, GateRequest][] = []
    for (const id of doubt.ids) {
      const before = await readRequest(trx, id, 'all')
      ended.push([before, await applyChange(trx, before, SET_BACK, by)])
    }
    return ended
  })
}
