import type { Catalogue } from '../../../shared/catalogue.ts'
import type { Quota } from '../../access/quota/quota.ts'
import type { TierSettings } from '../../access/quota/tiers.ts'
import { openAgentCredentials } from '../../agents/conversations/agent-credentials.ts'
import type { ConversationViews } from '../../agents/conversations/conversation-views.ts'
import { Conversations } from '../../agents/conversations/conversations.ts'
import type { ConversationsConfig } from '../../agents/conversations/conversations-config.ts'
import { RemoteAgents } from '../../agents/conversations/remote-agent.ts'
import type { Pipeline } from '../../calls/invoke/invoke.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { Skill } from '../../kernel/declaration/skill.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Ownership } from '../../kernel/leases/ownership.ts'
import { ownAddresses } from '../../kernel/outbound/open.ts'
import type { Outbound } from '../../kernel/outbound/outbound-config.ts'
import { createSender } from '../../kernel/outbound/sender.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { AskModel } from '../http/ask-model.ts'
import type { RunningAnswers } from '../http/running.ts'
import type { QueueMetrics } from '../metrics/queue-metrics.ts'
import { createSpeakers } from './speakers.ts'

interface SpeakerDomainParts
  extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  ownership: Ownership
  config: { conversations: ConversationsConfig; outbound: Outbound; tiers: TierSettings }
  catalogue: Catalogue
  /** Environment of the process, which may hold credentials for agents. */
  env: Record<string, string | undefined>
  store: Store
  events: Pick<Events, 'publish'>
  running: Pick<RunningAnswers, 'add' | 'remove' | 'isDraining'>
  metrics: { queue: Pick<QueueMetrics, 'countRequest'> }
  quota: Pick<Quota, 'standing'>
  fleet: Pick<Fleet, 'serves'>
  skills: readonly Skill[]
  askModel: AskModel
  pipeline: Pick<Pipeline, 'authorize'>
}

/** Conversations in which models, skills and agents of other services speak. */
export const openSpeakers = async (
  parts: SpeakerDomainParts,
): Promise<{ views: ConversationViews }> => {
  const { config, store, events, running, metrics, stack, leaderWork, schedules } = parts
  const { ownership, logger, now, runtime } = parts
  const { outbound, conversations } = config
  const sender = createSender({
    config: { ...outbound, answer_seconds: conversations.agent_seconds },
    ownAddresses,
    runtime,
    onOutcome: metrics.queue.countRequest,
  })
  const credentials = await openAgentCredentials(conversations.agent_credentials, parts.env)
  const agents = new RemoteAgents({ sender, config: conversations, credentials, runtime })
  stack.defer(() => agents.close())
  const speakers = createSpeakers({ ...parts, agents })
  const opened = await Conversations.open({
    ownership,
    config: conversations,
    store,
    speakers,
    events,
    running,
    leaderWork,
    schedules,
    logger,
    now,
    runtime,
  })
  stack.defer(() => opened.close())
  return { views: { conversations: opened } }
}
