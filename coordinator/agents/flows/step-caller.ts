import type { FlowStep } from './flow.ts'
import type { FlowRun, StepCall } from './run.ts'

/** One call of a run: a step, or its compensation. */
export interface StepRequest {
  run: FlowRun
  stepId: string
  /** Skill to call, or gate to pass. */
  action: Pick<FlowStep, 'skill' | 'gate' | 'summary'>
  input: Record<string, unknown>
  /** Idempotency key of the call, the same for each attempt. */
  callKey: string
  /** Earlier attempt that was interrupted, and may have had its effect. */
  interrupted?: StepCall | undefined
  /** Request at a gate that the call has waited for. */
  gateRequestId?: string | undefined
}

/** Outcome of one attempt. `later` means that nothing is decided yet, and the call is made again. */
export type StepResult =
  | { kind: 'done'; output: unknown }
  | { kind: 'waiting'; reason: string; gateRequestId?: string; taskId?: string }
  | { kind: 'later'; reason: string }
  | { kind: 'failed'; reason: string; output?: unknown }
  | { kind: 'unknown'; reason: string }

/** Makes the calls of runs through the pipeline of all calls. */
export interface StepCaller {
  call(request: StepRequest, signal: AbortSignal): Promise<StepResult>
  /** Returns the outcome that a waiting call waits for; `go` when the call can be made again. */
  look(run: FlowRun, waiting: StepCall): Promise<StepResult | { kind: 'go' }>
  /** Withdraws the approval request or cancels the task of a waiting call. */
  withdraw(run: FlowRun, waiting: StepCall): Promise<void>
}
