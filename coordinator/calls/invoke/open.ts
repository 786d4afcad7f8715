import type { Keys } from '../../access/keys/keys.ts'
import { type CountCall, createCallLimits } from '../../access/quota/call-limits.ts'
import type { Quota } from '../../access/quota/quota.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { OpenMinute } from '../../kernel/base/minute.ts'
import type { SkillFacts } from '../../kernel/declaration/declaration.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import type { Idempotency } from '../idempotency/idempotency.ts'
import type { OperationTasks } from '../tasks/operation-tasks.ts'
import type { PipelineViews } from './call-context.ts'
import { CallPipeline, type Pipeline } from './invoke.ts'
import type { ResolveReferences } from './resolve-references.ts'

interface PipelinePartParts extends Pick<Base, 'now' | 'runtime'> {
  logger: Pick<Base['logger'], 'warn'>
  skills: readonly (Operation & SkillFacts)[]
  quota: Pick<Quota, 'admit'>
  keys: Pick<Keys, 'hold'>
  idempotency: Idempotency
  resolveReferences: ResolveReferences
  openMinute: OpenMinute
  minuteTicks: () => number
  /** Limits of a test in place of the product's. */
  countCall?: CountCall
  /** Complete when all parts are open: calls see every view, and some begin tasks. */
  views: PipelineViews
}

/** The way from every surface, and from tasks, to the operations. */
export const openPipeline = (parts: PipelinePartParts): { pipeline: Pipeline } => ({
  pipeline: new CallPipeline({
    skills: parts.skills,
    views: () => parts.views,
    tasks: () => (parts.views as { tasks?: Pick<OperationTasks, 'begin'> }).tasks,
    countCall:
      parts.countCall ??
      createCallLimits({ ticks: parts.minuteTicks, openMinute: parts.openMinute }),
    quota: parts.quota,
    idempotency: parts.idempotency,
    resolveReferences: parts.resolveReferences,
    hold: (key, held) => parts.keys.hold(key, held),
    logger: parts.logger,
    now: parts.now,
    runtime: parts.runtime,
  }),
})
