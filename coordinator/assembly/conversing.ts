import type { CoordinatorConfig } from '../config.ts'
import { openAgentCredentials } from '../conversations/agent-credentials.ts'
import { type Conversations, openConversations } from '../conversations/conversations.ts'
import { createRemoteAgents } from '../conversations/remote-agent.ts'
import type { Events } from '../events/bus.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { createAskModel } from '../http/ask-model.ts'
import { createInference, type InferenceParts } from '../http/inference.ts'
import type { Keys } from '../keys/keys.ts'
import type { Figures } from '../metrics/figures.ts'
import type { Context } from '../operations/context.ts'
import { createSender } from '../outbound/sender.ts'
import type { Quota } from '../quota/quota.ts'
import type { Skill } from '../skills/skill.ts'
import type { Store } from '../store/store.ts'
import { ownAddresses } from './outward.ts'
import { createSpeakers } from './speakers.ts'

export interface ConversingParts {
  config: CoordinatorConfig
  store: Store
  events: Pick<Events, 'publish'>
  running: InferenceParts['running']
  figures: Pick<Figures, 'inference' | 'queue'>
  keys: Pick<Keys, 'hold'>
  quota: Pick<Quota, 'admit' | 'standing'>
  usage: InferenceParts['usage']
  fleet: Pick<Fleet, 'pick' | 'serves'>
  lanes: InferenceParts['lanes']
  skills: readonly Skill[]
  logger: InferenceParts['logger']
  /** Unix time, milliseconds. */
  now: () => number
}

/** Conversations, with the inference plane, the skills and agents of others to speak in them. */
export const converse = async (parts: ConversingParts): Promise<Conversations<Context>> => {
  const { config, store, events, running, figures, keys, quota, usage, fleet, logger, now } = parts
  const { catalogue, tiers, cascade, routing, outbound, conversations } = config
  const infer = createInference({
    ...{ catalogue, tiers, cascade, fleet, quota, usage, logger, now, running },
    lanes: parts.lanes,
    affinityPrefixChars: routing.affinity_prefix_chars,
    figures: figures.inference,
    hold: keys.hold,
    // nobody sees them: the limits of the key stand in the answer to the whole message
    answerHeaders: () => ({}),
  })
  const sender = createSender({
    config: { ...outbound, answer_seconds: conversations.agent_seconds },
    own: ownAddresses,
    ended: figures.queue.sent,
  })
  const credentials = await openAgentCredentials(conversations.agent_credentials, process.env)
  const agents = createRemoteAgents({ sender, config: conversations, credentials })
  const speakers = createSpeakers({
    ...{ config, fleet, quota, agents, now },
    skills: parts.skills,
    askModel: createAskModel(infer),
  })
  const opened = await openConversations({
    ...{ config: conversations, store, speakers, events, running, logger, now },
  })
  return {
    ...opened,
    close: async () => {
      await opened.close()
      await agents.close()
    },
  }
}
