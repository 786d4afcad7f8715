import { appendAudit } from '../../kernel/audit/audit.ts'
import type { Job } from '../../kernel/queue/job.ts'
import { JobError } from '../../kernel/queue/job-error.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import { areConditionsMet, resolveInput } from './evaluate.ts'
import { type FlowStep, listConditionSources, listInputSources, RUN } from './flow.ts'
import { type FlowRun, hasEnded, type RunState, type StepCall } from './run.ts'
import {
  readOutputs,
  readRun,
  readStepCalls,
  takeRun,
  writeRun,
  writeStepCall,
} from './run-store.ts'
import type { StepCaller, StepResult } from './step-caller.ts'

interface RunnerParts {
  ledger: Ledger
  caller: StepCaller
  /** Unix time, milliseconds. */
  now: () => number
}

/** A waiting run is checked after this share of the time that it has waited, within bounds. */
const LOOK_SHARE = 0.1
const FIRST_LOOK_SECONDS = 1
const LAST_LOOK_SECONDS = 60
/** Size of an output that is kept for later steps, as JSON. */
const MOST_OUTPUT_BYTES = 256 * 1024
const CANCELLED = 'cancelled by an operator'

/**
 * Continues a run from its stored state until it ends or waits. Each call is stored before it is made
 * and after it has ended, so that another process continues at the same call.
 */
export class FlowRunner {
  readonly #parts: RunnerParts
  readonly #job: Job
  readonly #signal: AbortSignal
  #run: FlowRun
  readonly #calls = new Map<string, StepCall>()

  private constructor(parts: RunnerParts, run: FlowRun, job: Job, signal: AbortSignal) {
    this.#parts = parts
    this.#run = run
    this.#job = job
    this.#signal = signal
  }

  /** Continues a run. Throws JobError when the run has to be continued later. */
  static async continueRun(
    parts: RunnerParts,
    runId: string,
    { job, signal }: { job: Job; signal: AbortSignal },
  ): Promise<void> {
    const { ledger } = parts
    const run = await ledger.free.write(trx => takeRun(trx, runId, job))
    // the process may have died between the end of the run and that of its job
    if (run.state === 'unknown') throw createUnknownError(run.reason)
    if (run.state === 'failed') throw createFailedError(run.reason)
    if (hasEnded(run)) return
    const runner = new FlowRunner(parts, run, job, signal)
    for (const call of await readStepCalls(ledger.read, runId)) runner.#calls.set(keyOf(call), call)
    await runner.#perform()
  }

  async #perform(): Promise<void> {
    const { steps } = this.#run
    for (const [position, step] of steps.entries()) {
      const call = await this.#settle(position, step)
      if (call === undefined) return this.#compensate('cancelled', CANCELLED)
      if (call.state === 'failed' && step.on_failure === 'stop')
        return this.#compensate('failed', `${step.id}: ${call.reason}`)
    }
    // an operator may have cancelled the run during its last step
    if (await this.#isCancelled()) return this.#compensate('cancelled', CANCELLED)
    await this.#end('done')
  }

  /** Completes a step; undefined when the run was cancelled before the step began. */
  async #settle(position: number, step: FlowStep): Promise<StepCall | undefined> {
    const known = this.#calls.get(keyOf({ position, undo: false }))
    if (known !== undefined && hasSettled(known)) return known
    if (known?.state !== 'running' && (await this.#isCancelled()))
      return known && this.#withdraw(known)
    const { skill, gate, summary, input, when } = step
    if (known === undefined && when.length > 0) {
      const sources = listConditionSources(when)
      const lost = this.#findLostOutput(sources)
      if (lost !== undefined) return this.#fail(position, false, lost)
      if (!areConditionsMet(when, await this.#readOutputs(sources)))
        return this.#store({ ...this.#beginCall(position, false), state: 'skipped' })
    }
    return this.#call(position, step.id, { skill, gate, summary, input, undo: false })
  }

  /** Withdraws a waiting call; returns it where it was completed before, and has to be compensated. */
  async #withdraw(call: StepCall): Promise<StepCall | undefined> {
    const { caller } = this.#parts
    await caller.withdraw(this.#run, call)
    const found = await caller.look(this.#run, call)
    if (found.kind === 'go' || found.kind === 'failed') return undefined
    return this.#take(call, found)
  }

  async #call(
    position: number,
    stepId: string,
    action: Pick<FlowStep, 'skill' | 'gate' | 'summary' | 'input'> & { undo: boolean },
  ): Promise<StepCall> {
    const { caller } = this.#parts
    const { undo } = action
    const known = this.#calls.get(keyOf({ position, undo }))
    if (known?.state === 'waiting') {
      const found = await caller.look(this.#run, known)
      if (found.kind !== 'go') return this.#take(known, found)
    }
    const sources = listInputSources(action.input)
    const lost = known === undefined ? this.#findLostOutput(sources) : undefined
    if (lost !== undefined) return this.#fail(position, undo, lost)
    const interrupted = known?.state === 'running' ? known : undefined
    const call = interrupted ?? (await this.#store(this.#beginCall(position, undo, known)))
    const request = {
      run: this.#run,
      stepId,
      action,
      input: resolveInput(action.input, await this.#readOutputs(sources)),
      callKey: `flow:${this.#run.id}:${position}${undo ? ':undo' : ''}`,
      interrupted,
      gateRequestId: known?.gateRequestId,
    }
    return this.#take(call, await caller.call(request, this.#signal))
  }

  /** Stores the outcome of an attempt. Throws JobError when the run cannot continue now. */
  async #take(call: StepCall, result: StepResult): Promise<StepCall> {
    const at = this.#parts.now()
    const waitedSeconds = (at - call.startedAt) / 1000
    if (this.#signal.aborted || result.kind === 'later')
      throw createWaitError(result.kind === 'later' ? result.reason : 'stopped', waitedSeconds)
    const { gateRequestId = call.gateRequestId, taskId } = result as Partial<StepCall>
    if (result.kind === 'waiting') {
      const { reason } = result
      if (call.state !== 'waiting')
        await this.#store({ ...call, reason, state: 'waiting', gateRequestId, taskId })
      throw createWaitError(reason, waitedSeconds)
    }
    const { kind: state } = result
    const { output, reason } = packResult(result)
    const settled = await this.#store({ ...call, state, reason, endedAt: at }, output)
    if (result.kind !== 'unknown') return settled
    await this.#end('unknown', result.reason)
    throw createUnknownError(result.reason)
  }

  /** Compensates the completed steps, last step first. */
  async #compensate(end: RunState, reason: string): Promise<void> {
    const faults: string[] = []
    for (const [position, step] of [...this.#run.steps.entries()].reverse()) {
      const done = this.#calls.get(keyOf({ position, undo: false }))
      if (done?.state !== 'done' || step.compensate === undefined) continue
      const { skill, input } = step.compensate
      const key = keyOf({ position, undo: true })
      const known = this.#calls.get(key)
      const call =
        known !== undefined && hasSettled(known)
          ? known
          : await this.#call(position, step.id, {
              skill,
              gate: undefined,
              summary: undefined,
              input,
              undo: true,
            })
      if (call.state === 'failed') faults.push(`${step.id} was not undone: ${call.reason}`)
    }
    const state = faults.length === 0 ? end : 'failed'
    const reasons = [reason, ...faults].join('; ')
    await this.#end(state, reasons)
    if (state === 'failed') throw createFailedError(reasons)
  }

  async #end(state: RunState, reason?: string): Promise<void> {
    const { ledger, now } = this.#parts
    const { id, tenantId, flowId, keyId, requestId } = this.#run
    await ledger.sealed.write(async trx => {
      await writeRun(trx, this.#run, this.#job.fence, { state, reason }, now())
      await appendAudit(trx, {
        actor: `key:${keyId}`,
        requestId,
        at: now(),
        tenant: tenantId,
        action: 'flow.end',
        subject: id,
        outcome: 'done',
        details: { flow_id: flowId, state },
      })
    })
  }

  async #isCancelled(): Promise<boolean> {
    this.#run = await readRun(this.#parts.ledger.read, this.#run.id)
    return this.#run.cancelled
  }

  /** Outputs of completed steps by their ids, and the run itself. */
  async #readOutputs(stepIds: readonly string[]): Promise<ReadonlyMap<string, unknown>> {
    const { id, flowId, steps } = this.#run
    const positions = stepIds.map(name => this.#positionOf(name)).filter(at => at >= 0)
    const outputs = await readOutputs(this.#parts.ledger.read, id, positions)
    return new Map<string, unknown>([
      ...[...outputs].map(([at, output]) => [steps[at]?.id ?? '', output] as const),
      [RUN, { id, flow_id: flowId }],
    ])
  }

  #positionOf(stepId: string): number {
    return this.#run.steps.findIndex(({ id }) => id === stepId)
  }

  /** Reason why one of the steps completed and has no output. */
  #findLostOutput(stepIds: readonly string[]): string | undefined {
    for (const stepId of stepIds) {
      const call = this.#calls.get(keyOf({ position: this.#positionOf(stepId), undo: false }))
      if (call?.state === 'done' && call.reason !== undefined)
        return `the output of ${stepId} is needed: ${call.reason}`
    }
    return undefined
  }

  /** Fails a call that cannot be made. */
  async #fail(position: number, undo: boolean, reason: string): Promise<StepCall> {
    const call = this.#beginCall(position, undo)
    return this.#store({ ...call, state: 'failed', reason, endedAt: this.#parts.now() })
  }

  #beginCall(position: number, undo: boolean, known?: StepCall): StepCall {
    return {
      runId: this.#run.id,
      position,
      undo,
      state: 'running',
      gateRequestId: known?.gateRequestId,
      taskId: undefined,
      reason: undefined,
      startedAt: this.#parts.now(),
      endedAt: undefined,
    }
  }

  async #store(call: StepCall, output?: unknown): Promise<StepCall> {
    const { ledger, now } = this.#parts
    const state: RunState =
      call.state === 'waiting' ? 'waiting' : call.undo ? 'compensating' : 'running'
    await ledger.free.write(async trx => {
      await writeRun(trx, this.#run, this.#job.fence, { state }, now())
      await writeStepCall(trx, { ...call, output })
    })
    this.#calls.set(keyOf(call), call)
    return call
  }
}

const keyOf = ({ position, undo }: Pick<StepCall, 'position' | 'undo'>): string =>
  `${position}${undo ? ' undo' : ''}`

const hasSettled = ({ state }: StepCall): boolean => state !== 'running' && state !== 'waiting'

/** The job stays as a dead letter until a person has looked. */
const createUnknownError = (reason = 'no reason given'): JobError =>
  new JobError(`unknown: ${reason}`, { final: true })

/** The job of a failed run is not done: it stays as a dead letter, and a retry changes nothing. */
const createFailedError = (reason = 'no reason given'): JobError =>
  new JobError(`failed: ${reason}`, { final: true })

/** Ends this attempt until the next check, without counting it. */
const createWaitError = (reason: string, waitedSeconds = 0): JobError => {
  const seconds = Math.round(waitedSeconds * LOOK_SHARE)
  const retryAfterSeconds = Math.min(LAST_LOOK_SECONDS, Math.max(FIRST_LOOK_SECONDS, seconds))
  return new JobError(reason, { early: true, retryAfterSeconds })
}

/** Output of a result as it is stored, and the reason of a failure; a failed call may have both. */
const packResult = (
  result: Extract<StepResult, { kind: 'done' | 'failed' | 'unknown' }>,
): { output?: unknown; reason: string | undefined } => {
  if (result.kind === 'done') return packOutput(result.output)
  const { reason } = result
  return result.kind === 'failed' ? { ...packOutput(result.output), reason } : { reason }
}

/** Output as it is stored; with a reason in its place when it is too large. */
const packOutput = (output: unknown): { output?: unknown; reason: string | undefined } => {
  const bytes = Buffer.byteLength(JSON.stringify(output) ?? '')
  if (bytes <= MOST_OUTPUT_BYTES) return { output, reason: undefined }
  const reason = `payload_too_large: it has ${bytes} bytes, and at most ${MOST_OUTPUT_BYTES} are kept`
  return { reason }
}
