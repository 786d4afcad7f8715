import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { GateRequest } from '../../kernel/declaration/gate-request.ts'
import type { Trx } from './asking.ts'
import { auditOf } from './audit-of.ts'
import { columnsOf, readRequest, voteRowOf } from './rows.ts'
import type { RequestChange } from './rules.ts'

/** Writes one change of a request with its audit row; returns the changed request. */
export const applyChange = async (
  trx: Trx,
  request: GateRequest,
  change: RequestChange,
  entry: Actor & { at: number },
): Promise<GateRequest> => {
  const { id } = request
  if (change.vote !== undefined)
    await trx.insertInto('gate_votes').values(voteRowOf(id, change.vote)).execute()
  await trx.updateTable('gate_requests').set(columnsOf(change)).where('id', '=', id).execute()
  await appendAudit(trx, { ...entry, ...auditOf(request, change) })
  return readRequest(trx, id, 'all')
}
