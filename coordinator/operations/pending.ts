import * as z from 'zod'
import type { GateRequest } from '../gates/request.ts'

/** The answer of an operation that waits for people: REST sends it as 202. */
export const PendingView = z.object({
  status: z.literal('pending'),
  request_id: z.string(),
  gate_id: z.string(),
  plan_hash: z.string(),
  expires_at: z.iso.datetime(),
  next: z.string().describe('What to do when it is approved, in words.'),
})

const AGAIN = 'when it is approved, make the same call again'

/** What an operation answers instead of its output when an approval is missing. */
export class Pending {
  readonly view: z.input<typeof PendingView>

  constructor(request: GateRequest, next = AGAIN) {
    const { id, gateId, planHash, state, expiresAt, approvalExpiresAt } = request
    const until = state === 'approved' ? (approvalExpiresAt ?? expiresAt) : expiresAt
    this.view = {
      status: 'pending',
      request_id: id,
      gate_id: gateId,
      plan_hash: planHash,
      expires_at: new Date(until).toISOString(),
      next,
    }
  }
}
