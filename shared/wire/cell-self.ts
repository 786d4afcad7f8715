import * as z from 'zod'
import { TrustBody } from './trust.ts'

/** Coordinator's view of the requesting cell. */
export const SelfAnswer = TrustBody.extend({
  cell_id: z.string(),
  name: z.string(),
  /** Tags from the join token. */
  tags: z.array(z.string()),
  /** Creation time of the credential; unix milliseconds, as all times here. */
  credential_at: z.int(),
  /** Time by the coordinator's clock. */
  now: z.int(),
})
export type SelfAnswer = z.infer<typeof SelfAnswer>

/** A new credential; the previous one stays valid until this one is first used. */
export const CredentialAnswer = z.object({ credential: z.string().min(1) })
export type CredentialAnswer = z.infer<typeof CredentialAnswer>

/** Confirms which cell has left. */
export const LeaveAnswer = z.object({ id: z.string() })
export type LeaveAnswer = z.infer<typeof LeaveAnswer>
