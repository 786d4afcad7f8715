import { openCoordinator } from '../../coordinator/assembly/coordinator.ts'
import { Budgets } from '../../coordinator/kernel/budgets/budgets.ts'
import type { Skill } from '../../coordinator/kernel/declaration/skill.ts'
import { openLeader } from '../../coordinator/kernel/leader/open.ts'
import { openReplicas } from '../../coordinator/kernel/replicas/open.ts'
import type { Store } from '../../coordinator/kernel/store/store.ts'
import type { AskModel } from '../../coordinator/surfaces/http/ask-model.ts'
import { createCoordinatorMetrics } from '../../coordinator/surfaces/metrics/coordinator-metrics.ts'
import { openSpeakers } from '../../coordinator/surfaces/speakers/open.ts'
import { config, pipelineWith } from './app.ts'
import { silent } from './cell.ts'
import { withMembers } from './coordinator.ts'
import { createEvents } from './memory-events.ts'
import { newOwnership } from './replicas.ts'

/** How models answer in a conversation, and who may speak. */
export interface TestConversationOptions {
  /** Settings that are laid over the configuration of conversations. */
  settings?: object
  outbound?: object
  askModel?: AskModel
  moreSkills?: readonly Skill[]
  serves?: (model: string) => boolean
  standing?: { burst?: number; remaining?: number }
  draining?: () => boolean
  env?: Record<string, string>
}

const STANDING = { limit: 9, remaining: 9, resetSeconds: 1, burst: 9, minuteLimit: 9 }

/** The parts that a test has in place of those of the product. */
export const createConversingParts = ({
  askModel,
  standing,
  draining,
}: TestConversationOptions) => ({
  askModel: askModel ?? (() => Promise.reject(new Error('no model is asked here'))),
  quota: {
    standing: () => ({ ...STANDING, ...standing }),
    admit: () => ({ refund: () => {} }),
  },
  running: {
    add: () => {},
    remove: () => {},
    isDraining: draining ?? (() => false),
  },
})

/** Conversations alone over a store, with models that a test speaks for. */
export const openTestConversations = async (
  store: Store,
  now: () => number,
  conversing: TestConversationOptions = {},
) => {
  const { settings = {}, outbound = {}, env = {}, moreSkills = [] } = conversing
  const openConversingParts = () => ({
    ...createConversingParts(conversing),
    events: createEvents({ source: '/test', logger: silent }),
    metrics: createCoordinatorMetrics(),
    budgets: new Budgets(config().limits),
    fleet: { serves: conversing.serves ?? (() => true) },
    catalogue: config().catalogue,
    pipeline: pipelineWith(),
  })
  // a test opens several on one store, which PostgreSQL refuses to coordinators
  const openOwnStore = () => ({ store: { ...store, isShared: false } })
  // so that each has a row, which openReplicas writes only where others can be
  const openOwnership = () => ({ ownership: newOwnership(store.ledger) })
  const { views, close } = await openCoordinator(
    [openOwnStore, openReplicas, openOwnership, openLeader, openConversingParts, openSpeakers],
    config({ conversations: settings, outbound }),
    silent,
    { now, env, moreSkills },
  )
  return withMembers(views.conversations, { close })
}
