import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import { HOUR_MS } from '../../../shared/time.ts'
import type { Starter } from '../../access/keys/starter.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { Queue } from '../../kernel/queue/queue.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import {
  type Flow,
  type FlowStep,
  type FlowsConfig,
  RUN,
  type SynergiesConfig,
  type Synergy,
} from './flow.ts'
import { flowRunTable } from './flow-run.table.ts'
import { type FlowRun, hasEnded, type RunSummary, type StepCallWithOutput } from './run.ts'
import { eraseFromOutputs } from './run-retention.ts'
import {
  countOpenRuns,
  countRuns,
  countStarted,
  listWaitingJobs,
  type RunCount,
  readCallsWithOutputs,
  readOpenRuns,
  readRun,
  readRuns,
  readRunsWithSteps,
} from './run-store.ts'

export const FLOW_RUN = 'flow-run'

/** Sequence of steps that can be started. */
interface Startable extends Omit<Flow, 'description'> {
  flowId: string
  synergyId?: string
}

interface StartOptions {
  /** Starts nothing when it was used before. */
  onceKey?: string
  mostPerHour?: number
}

/** Limit of a tenant's runs that have not ended, so that other tenants get their turn too. */
const MOST_OPEN_RUNS = 200

interface FlowsParts {
  ledger: Ledger
  queue: Pick<Queue, 'addWithin' | 'hastenWithin' | 'wake'>
  flows: FlowsConfig
  synergies: SynergiesConfig
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'ids'>
}

/** Flows and synergies of the configuration, and their runs. */
export class Flows {
  readonly #parts: FlowsParts

  constructor(parts: FlowsParts) {
    this.#parts = parts
  }

  get flows(): FlowsConfig {
    return this.#parts.flows
  }

  get synergies(): SynergiesConfig {
    return this.#parts.synergies
  }

  /** Returns a flow as a sequence that can be started. Throws `not_found`. */
  flow(flowId: string): Startable {
    const { flows } = this.#parts
    const flow = Object.hasOwn(flows, flowId) ? flows[flowId] : undefined
    if (flow === undefined) throw createUnknownError('flow', flowId)
    return { ...flow, flowId }
  }

  /** The flows of a synergy as one sequence. Throws `invalid_request` for an unknown synergy. */
  synergy(synergyId: string): Startable {
    const { flows, synergies } = this.#parts
    const synergy = Object.hasOwn(synergies, synergyId) ? synergies[synergyId] : undefined
    if (synergy !== undefined) return joinFlows(synergyId, synergy, flows)
    const known = Object.keys(synergies).join(', ') || 'none is configured'
    const message = `no synergy ${synergyId}; known: ${known}`
    throw new ShoalError('invalid_request', message, { param: 'synergy_id' })
  }

  /**
   * Starts a run and resolves when it is stored. Resolves with the earlier run when the `onceKey` was
   * used before. Throws `rate_limited` when the tenant has too many open runs, or the synergy more
   * runs within the hour than `mostPerHour`.
   */
  async start(
    what: Startable,
    by: Starter,
    { onceKey, mostPerHour }: StartOptions = {},
  ): Promise<FlowRun> {
    const { ledger, queue, now, runtime } = this.#parts
    const id = runtime.ids.create('run', now())
    const run = await ledger.sealed.write(async trx => {
      const { flowId, synergyId, steps, team, cost_eur } = what
      const { tenantId, keyId, requestId, actor } = by
      const job = await queue.addWithin(trx, {
        kind: FLOW_RUN,
        payload: { run_id: id, flow_id: flowId, team, cost_cents: Math.round(cost_eur * 100) },
        tenantId,
        ...(onceKey === undefined ? {} : { onceKey }),
      })
      const { run_id: startedId } = job.payload as { run_id: string }
      if (startedId !== id) return readRun(trx, startedId, tenantId)
      if ((await countOpenRuns(trx, tenantId)) >= MOST_OPEN_RUNS)
        throw createBoundError(`the tenant has ${MOST_OPEN_RUNS} runs that have not ended`)
      if (synergyId !== undefined && mostPerHour !== undefined) {
        const started = await countStarted(trx, { tenantId, synergyId, since: now() - HOUR_MS })
        if (started >= mostPerHour)
          throw createBoundError(`${synergyId} was started ${started} times within the hour`)
      }
      const run: FlowRun = {
        id,
        tenantId,
        flowId,
        synergyId,
        steps: [...steps],
        keyId,
        requestId,
        jobId: job.id,
        state: 'queued',
        reason: undefined,
        cancelled: false,
        fence: 0,
        createdAt: now(),
        changedAt: now(),
        endedAt: undefined,
      }
      await trx.insertInto('flow_runs').values(flowRunTable.write(run)).execute()
      await appendAudit(trx, {
        actor,
        requestId,
        at: now(),
        tenant: tenantId,
        action: 'flow.run',
        subject: id,
        outcome: 'done',
        details: { flow_id: flowId, synergy_id: synergyId ?? null },
      })
      return readRun(trx, id)
    })
    queue.wake()
    return run
  }

  /**
   * Cancels a run before its next step; completed steps are compensated. Throws `not_found`, and
   * `conflict` when the run has ended.
   */
  async cancel(runId: string, tenantId: string, by: Actor): Promise<FlowRun> {
    const { ledger, queue, now } = this.#parts
    const run = await ledger.sealed.write(async trx => {
      const found = await readRun(trx, runId, tenantId)
      if (hasEnded(found)) throw new ShoalError('conflict', `run ${runId} is ${found.state}`)
      await trx
        .updateTable('flow_runs')
        .set(flowRunTable.writeSome({ cancelled: true }))
        .where('id', '=', runId)
        .execute()
      const about = { tenant: tenantId, action: 'flow.cancel', subject: runId }
      await appendAudit(trx, { ...by, at: now(), ...about, outcome: 'done' })
      await queue.hastenWithin(trx, [found.jobId])
      return readRun(trx, runId)
    })
    queue.wake()
    return run
  }

  /** Checks the runs of a tenant at once that wait for this request at a gate, or for this task. */
  async hasten(tenantId: string, awaitedId: string): Promise<void> {
    const { ledger, queue } = this.#parts
    const jobIds = await listWaitingJobs(ledger.read, tenantId, awaitedId)
    if (jobIds.length === 0) return
    await ledger.free.write(trx => queue.hastenWithin(trx, jobIds))
    queue.wake()
  }

  /** Reads a run. Throws `not_found`, also for a run of another tenant. */
  run(runId: string, tenantId: string): Promise<FlowRun> {
    return readRun(this.#parts.ledger.read, runId, tenantId)
  }

  /** Runs of a tenant, newest first. */
  runs(tenantId: string, filter: Parameters<typeof readRuns>[2]): Promise<RunSummary[]> {
    return readRuns(this.#parts.ledger.read, tenantId, filter)
  }

  /** Runs of a tenant with their steps, newest first. */
  runsWithSteps(tenantId: string, filter: Parameters<typeof readRuns>[2]): Promise<FlowRun[]> {
    return readRunsWithSteps(this.#parts.ledger.read, tenantId, filter)
  }

  /** Runs of a tenant that have not ended, with their steps. */
  openRuns(tenantId: string): Promise<FlowRun[]> {
    return readOpenRuns(this.#parts.ledger.read, tenantId, MOST_OPEN_RUNS)
  }

  calls(runId: string): Promise<StepCallWithOutput[]> {
    return readCallsWithOutputs(this.#parts.ledger.read, runId)
  }

  /** Deletes the outputs of steps that name a person; returns their number. */
  erasePerson(tenantId: string, personId: string): Promise<number> {
    return eraseFromOutputs(this.#parts.ledger, tenantId, personId)
  }

  count(tenantId: string): Promise<RunCount[]> {
    return countRuns(this.#parts.ledger.read, tenantId)
  }
}

const createBoundError = (message: string): ShoalError =>
  new ShoalError('rate_limited', message, { retryAfterSeconds: 60 })

/** Steps of several flows in a row; their ids and references carry the id of their flow. */
export const joinFlows = (synergyId: string, { flows }: Synergy, known: FlowsConfig): Startable => {
  const parts = flows.map(id => ({ id, flow: known[id] as Flow }))
  const team = parts.find(({ flow }) => flow.team !== undefined)?.flow.team
  return {
    flowId: flows.join('+').slice(0, 200),
    synergyId,
    team,
    cost_eur: parts.reduce((sum, { flow }) => sum + flow.cost_eur, 0),
    steps: parts.flatMap(({ id, flow }) => flow.steps.map(step => prefixStep(`${id}_`, step))),
  }
}

const prefixStep = (prefix: string, step: FlowStep): FlowStep => ({
  ...step,
  id: `${prefix}${step.id}`,
  input: prefixPaths(prefix, step.input),
  when: step.when.map(({ from, ...tests }) => ({ ...tests, from: prefixPath(prefix, from) })),
  ...(step.compensate && {
    compensate: { ...step.compensate, input: prefixPaths(prefix, step.compensate.input) },
  }),
})

const prefixPath = (prefix: string, path: string): string =>
  path.split('.')[0] === RUN ? path : `${prefix}${path}`

const prefixPaths = <T>(prefix: string, value: T): T =>
  JSON.parse(JSON.stringify(value), (name, member: unknown) =>
    name === '$from' ? prefixPath(prefix, String(member)) : member,
  )
