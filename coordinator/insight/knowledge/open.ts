import type { Base } from '../../kernel/base/base.ts'
import { followChanges } from '../../kernel/base/follow-changes.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Store } from '../../kernel/store/store.ts'
import { Knowledge } from './knowledge.ts'
import { forgetWeakStrengths } from './learning-store.ts'
import { createLiveFacts, type LiveViews } from './live/live-facts.ts'
import type { CallableFacts } from './live/skill-facts.ts'

export interface KnowledgeViews {
  knowledge: Knowledge
}

interface KnowledgeDomainParts
  extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  config: { tiers: object }
  store: Pick<Store, 'ledger' | 'revisions'>
  /** Every skill and operation. */
  callable: readonly CallableFacts[]
  views: LiveViews
}

const REFRESH_SECONDS = 10
const LEARN_SECONDS = 1
const FORGET_SECONDS = 600

/** The knowledge graph; what it has learned and imported is shared by all coordinators. */
export const openKnowledge = (parts: KnowledgeDomainParts): { views: KnowledgeViews } => {
  const { config, store, callable, views, stack, schedules, leaderWork, logger, now } = parts
  const { ledger, revisions } = store
  const readLiveFacts = createLiveFacts({ views, tiers: config.tiers, callable })
  const knowledge = new Knowledge({ ledger, readLiveFacts, now })
  stack.defer(() => knowledge.learn())
  schedules.every('knowledge.refresh', REFRESH_SECONDS, () => knowledge.refreshUsed())
  schedules.every('knowledge.learn', LEARN_SECONDS, () => knowledge.learn())
  leaderWork.every('knowledge.forget', FORGET_SECONDS, fenced => forgetWeakStrengths(fenced, now()))
  stack.defer(revisions.onChange('graph_layers', () => knowledge.markLayersStale()))
  const learning = followChanges({
    subscribe: listener => revisions.onChange('graph_learning', listener),
    read: () => knowledge.readLearningAgain(),
    onFailure: error => logger.warn({ err: error }, 'learned strengths were not read'),
    runtime: parts.runtime,
  })
  stack.defer(() => learning.close())
  return { views: { knowledge } }
}
