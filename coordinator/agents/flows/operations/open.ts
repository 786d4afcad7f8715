import { ShoalError } from '../../../../shared/errors.ts'
import type { Idempotency } from '../../../calls/idempotency/idempotency.ts'
import type { PipelineViews } from '../../../calls/invoke/call-context.ts'
import type { Pipeline } from '../../../calls/invoke/invoke.ts'
import type { TaskViews } from '../../../calls/tasks/task-views.ts'
import type { Base } from '../../../kernel/base/base.ts'
import type { Operation } from '../../../kernel/declaration/operation.ts'
import type { Events } from '../../../kernel/events/bus.ts'
import type { OpenFlows } from '../open.ts'
import { createStepCaller } from './call-step.ts'
import { hastenOnEvents } from './hasten-on-events.ts'
import { startOnEvents } from './start-on-events.ts'

interface FlowCallParts extends OpenFlows, Pick<Base, 'stack' | 'logger' | 'runtime'> {
  skills: readonly Operation[]
  callable: readonly Operation[]
  pipeline: Pick<Pipeline, 'invoke'>
  idempotency: Pick<Idempotency, 'look'>
  events: Pick<Events, 'subscribe'>
  views: PipelineViews & TaskViews
}

/**
 * Lets runs of flows call skills, and events start synergies. Throws `config_invalid` for a flow
 * that names a skill that does not exist.
 */
export const openFlowCalls = (parts: FlowCallParts): object => {
  const { flows, skills, callable, pipeline, idempotency, events, stack, logger, runtime } = parts
  requireKnownSkills(parts)
  const views = () => parts.views
  parts.connectFlows(createStepCaller({ views, pipeline, skills, callable, idempotency }))
  stack.defer(hastenOnEvents({ flows, events, logger }))
  stack.defer(startOnEvents({ flows, views, events, logger, runtime }))
  return {}
}

const requireKnownSkills = ({ flows, skills }: Pick<FlowCallParts, 'flows' | 'skills'>): void => {
  const known = new Set(skills.map(({ id }) => id))
  for (const [id, { steps }] of Object.entries(flows.flows))
    for (const { id: step, skill, compensate } of steps)
      for (const named of [skill, compensate?.skill])
        if (named !== undefined && !known.has(named))
          throw new ShoalError('config_invalid', `flows.${id}.${step}: no skill ${named}`)
}
