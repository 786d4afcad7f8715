import type { PendingResult } from './pending-result.ts'

/** End of one call, for a surface to translate; a refusal is thrown as a `ShoalError`. */
export type Outcome =
  | {
      kind: 'done'
      output: unknown
      /** True for the answer of an earlier call with the same idempotency key. */
      isReplay: boolean
    }
  | { kind: 'task'; taskId: string; isReplay: boolean }
  | { kind: 'pending'; pending: PendingResult }

/** Body of an outcome in JSON. */
export const bodyOf = (outcome: Outcome): unknown => {
  if (outcome.kind === 'pending') return outcome.pending.view
  return outcome.kind === 'task' ? { task_id: outcome.taskId } : outcome.output
}
