import * as z from 'zod'
import { iso } from '../../../shared/time.ts'
import type { GateRequest } from './gate-request.ts'

/** The answer of an operation that waits for people: REST sends it as 202. */
export const PendingView = z.object({
  status: z.literal('pending'),
  request_id: z.string(),
  gate_id: z.string(),
  plan_hash: z.string(),
  expires_at: z.iso.datetime(),
  next: z.string().describe('Next step after the approval, in plain text.'),
  summary: z.string().describe('Summary that approvers read first.'),
  hint: z
    .string()
    .exactOptional()
    .describe('Only when no person can approve the request: what to do about it.'),
  difference: z.json().exactOptional().describe('Changes the plan would make.'),
  plan: z.json().exactOptional().describe('Plan that waits, with its checks.'),
  claim_token: z
    .string()
    .exactOptional()
    .describe(
      'Only for visitors without a key: the token that reveals the approved key. It is shown only once.',
    ),
})

const AGAIN = 'once it is approved, repeat the same call'

type PendingDetails = Pick<
  z.input<typeof PendingView>,
  'hint' | 'difference' | 'plan' | 'claim_token'
>

/** Result of an operation in place of its output while an approval is missing. */
export class PendingResult {
  readonly view: z.input<typeof PendingView>
  /** True when people have approved it; the step in `view.next` is still to be done. */
  readonly isApproved: boolean

  constructor(request: GateRequest, next = AGAIN, more: PendingDetails = {}) {
    const { id, gateId, planHash, state, expiresAt, approvalExpiresAt, summary } = request
    this.isApproved = state === 'approved'
    const until = this.isApproved ? (approvalExpiresAt ?? expiresAt) : expiresAt
    this.view = {
      status: 'pending',
      request_id: id,
      gate_id: gateId,
      plan_hash: planHash,
      expires_at: iso(until),
      next,
      summary,
      ...more,
    }
  }
}
