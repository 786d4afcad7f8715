import type { GateViews } from '../../access/gates/open.ts'
import { viewFor } from '../../access/gates/operations/gate-view.ts'
import { openSeats } from '../../access/gates/seats.ts'
import type { Context } from '../../kernel/declaration/context.ts'
import type { GateRequest } from '../../kernel/declaration/gate-request.ts'

/** Message of a task that waits for approval, with everything an approver needs to decide. */
export const gateWait = (
  request: GateRequest,
  { gates, now }: Pick<Context, 'now'> & Pick<GateViews, 'gates'>,
) => {
  const definition = gates.definitions[request.gateId]
  const view = viewFor(request, { gates, now })
  const required = openSeats(definition?.approvals ?? [], [])
  return {
    gate_id: view.gate_id,
    request_id: view.id,
    status: view.status,
    summary: view.summary,
    approvals: required - view.approvals_missing,
    required,
    approver_roles: [...new Set(definition?.approvals.flat() ?? [])],
    digest: view.plan_hash,
    expires_at: view.expires_at,
    approve_path: `/v1/gates/requests/${view.id}/approve`,
    approve_command: `shoal gate approve ${view.id}`,
  }
}

/** Reason why a request ended without approval, in plain words. */
export const describeGateRefusal = ({ id, state, reason }: GateRequest, ended: string): string =>
  `request ${id} is ${ended === state ? state : ended}${reason === undefined ? '' : `: ${reason}`}`
