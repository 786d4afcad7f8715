import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { GateRequest } from '../../kernel/declaration/gate-request.ts'
import type { Trx } from './asking.ts'
import { auditOf } from './audit-of.ts'
import { gateRequestTable } from './gate-request.table.ts'
import { gateVoteTable } from './gate-vote.table.ts'
import { readRequest } from './rows.ts'
import type { RequestChange } from './rules.ts'

/** Writes one change of a request with its audit row; returns the changed request as `read` does. */
export const applyChange = async (
  trx: Trx,
  request: GateRequest,
  change: RequestChange,
  entry: Actor & { at: number },
  read = (db: Trx, id: string) => readRequest(db, id, 'all'),
): Promise<GateRequest> => {
  const { id } = request
  const { vote, ...fields } = change
  if (vote !== undefined) {
    const row = gateVoteTable.write({ ...vote, requestId: id, roles: [...vote.roles] })
    await trx.insertInto('gate_votes').values(row).execute()
  }
  const set = gateRequestTable.writeSome(fields)
  await trx.updateTable('gate_requests').set(set).where('id', '=', id).execute()
  await appendAudit(trx, { ...entry, ...auditOf(request, change) })
  return read(trx, id)
}
