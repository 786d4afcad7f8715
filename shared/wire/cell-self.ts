import * as z from 'zod'
import { TrustBody } from './trust.ts'

/** What the coordinator knows of the cell that asks. */
export const SelfAnswer = TrustBody.extend({
  cell_id: z.string(),
  name: z.string(),
  /** From its join token. */
  tags: z.array(z.string()),
  /** When its credential was made; unix milliseconds, as all times here. */
  credential_at: z.int(),
  /** The coordinator's clock. */
  now: z.int(),
})
export type SelfAnswer = z.infer<typeof SelfAnswer>

/** A new credential; the one before stays good until this one was used. */
export const CredentialAnswer = z.object({ credential: z.string().min(1) })
export type CredentialAnswer = z.infer<typeof CredentialAnswer>

/** The cell that has left. */
export const LeaveAnswer = z.object({ id: z.string() })
export type LeaveAnswer = z.infer<typeof LeaveAnswer>
