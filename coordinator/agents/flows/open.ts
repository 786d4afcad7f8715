import * as z from 'zod'
import { HALF_JITTER } from '../../../shared/back-off.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { DAY_MS } from '../../../shared/time.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import { JobError } from '../../kernel/queue/job-error.ts'
import { defineJobKind } from '../../kernel/queue/job-kind.ts'
import type { OpenQueue } from '../../kernel/queue/open.ts'
import type { Store } from '../../kernel/store/store.ts'
import { findTriggerCycle } from './find-trigger-cycle.ts'
import type { FlowsConfig, SynergiesConfig } from './flow.ts'
import { FLOW_RUN, Flows, joinFlows } from './flows.ts'
import { FlowRunner } from './run-flow.ts'
import { forgetRuns } from './run-retention.ts'
import { isOpenRun } from './run-store.ts'
import type { StepCaller } from './step-caller.ts'

interface FlowDomainParts extends Pick<Base, 'now' | 'runtime'>, Pick<OpenLeader, 'leaderWork'> {
  config: { flows: FlowsConfig; synergies: SynergiesConfig }
  store: Pick<Store, 'ledger'>
  work: Pick<OpenQueue, 'queue' | 'addKind'>
}

/** Flows for operations. */
export interface FlowViews {
  flows: Flows
}

/** Flows whose runs wait until a step caller is connected. */
export interface OpenFlows {
  flows: Flows
  connectFlows(caller: StepCaller): void
}

const Payload = z.object({
  run_id: z.string(),
  flow_id: z.string(),
  team: z.string().optional(),
  cost_cents: z.int(),
})

const KEPT_DAYS = 90
const FORGET_SECONDS = 3600
const FORGET_AT_ONCE = 200

export const openFlows = (parts: FlowDomainParts): OpenFlows & { views: FlowViews } => {
  const { config, store, work, leaderWork, now, runtime } = parts
  const { ledger } = store
  requireKnownFlows(config)
  let caller: StepCaller | undefined
  work.addKind(
    defineJobKind({
      kind: FLOW_RUN,
      payload: Payload,
      account: ({ team, cost_cents }) => ({
        project: 'flows',
        costCents: cost_cents,
        ...(team === undefined ? {} : { team }),
      }),
      // an attempt is only counted when its process dies; a run survives that any number of times
      maxAttempts: 10_000,
      backOff: { firstMs: 1000, maxMs: 60_000, jitter: HALF_JITTER },
      concurrency: 8,
      timeoutSeconds: 3600,
      leaseSeconds: 10,
      keptDays: KEPT_DAYS,
      run: async ({ run_id }, attempt) => {
        if (caller === undefined) throw new JobError('the coordinator is starting', { early: true })
        await FlowRunner.continueRun({ ledger, caller, now }, run_id, attempt)
      },
      findEndCommand: async ({ run_id }, trx) =>
        (await isOpenRun(trx, run_id)) ? `shoal flows cancel ${run_id}` : undefined,
    }),
  )
  leaderWork.every('flows.forget', FORGET_SECONDS, async led => {
    const before = now() - KEPT_DAYS * DAY_MS
    while (await forgetRuns(led, before, FORGET_AT_ONCE));
  })
  const { flows: named, synergies } = config
  const flows = new Flows({ ledger, queue: work.queue, flows: named, synergies, now, runtime })
  const connectFlows = (given: StepCaller): void => {
    caller = given
    work.queue.wake()
  }
  return { flows, connectFlows, views: { flows } }
}

/**
 * Throws `config_invalid` for synergies whose flows do not exist, whose steps have the same name, or
 * that start each other.
 */
const requireKnownFlows = ({ flows, synergies }: FlowDomainParts['config']): void => {
  for (const [id, synergy] of Object.entries(synergies)) {
    const missing = synergy.flows.find(flow => !Object.hasOwn(flows, flow))
    if (missing !== undefined)
      throw new ShoalError('config_invalid', `synergies.${id}.flows: no flow ${missing}`)
    const ids = joinFlows(id, synergy, flows).steps.map(step => step.id)
    const twice = ids.find((stepId, at) => ids.indexOf(stepId) !== at)
    if (twice !== undefined)
      throw new ShoalError(
        'config_invalid',
        `synergies.${id}.flows: two steps are named ${twice}, which is a flow and a step joined by _; rename one`,
      )
  }
  const cycle = findTriggerCycle(synergies, flows)
  if (cycle !== undefined)
    throw new ShoalError('config_invalid', `synergies start each other: ${cycle.join(' -> ')}`)
}
