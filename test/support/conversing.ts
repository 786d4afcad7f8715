import { createSpeakers } from '../../coordinator/assembly/speakers.ts'
import { openAgentCredentials } from '../../coordinator/conversations/agent-credentials.ts'
import { openConversations } from '../../coordinator/conversations/conversations.ts'
import { ConversationsConfig } from '../../coordinator/conversations/conversations-config.ts'
import { createRemoteAgents } from '../../coordinator/conversations/remote-agent.ts'
import type { Events } from '../../coordinator/events/bus.ts'
import type { AskModel } from '../../coordinator/http/ask-model.ts'
import { Outbound } from '../../coordinator/outbound/outbound-config.ts'
import { createSender } from '../../coordinator/outbound/sender.ts'
import { skills } from '../../coordinator/skills/index.ts'
import type { Skill } from '../../coordinator/skills/skill.ts'
import type { Store } from '../../coordinator/store/store.ts'
import { config } from './app.ts'
import { silent } from './cell.ts'

export interface TestConversing {
  /** Laid over the configuration of conversations. */
  settings?: object
  outbound?: object
  askModel?: AskModel
  moreSkills?: readonly Skill[]
  serves?: (model: string) => boolean
  standing?: { burst?: number; remaining?: number }
  draining?: () => boolean
  publish?: Events['publish']
  env?: Record<string, string>
}

const STANDING = { limit: 9, remaining: 9, resetSeconds: 1, burst: 9, minuteLimit: 9 }

/** Real conversations over a store, with models that a test speaks for. */
export const testConversations = async (
  store: Store,
  now: () => number,
  { settings = {}, outbound = {}, askModel, moreSkills = [], ...rest }: TestConversing = {},
) => {
  const conversations = ConversationsConfig.parse(settings)
  const credentials = await openAgentCredentials(conversations.agent_credentials, rest.env ?? {})
  const speakers = createSpeakers({
    config: { ...config(), conversations },
    skills: [...skills, ...moreSkills],
    askModel: askModel ?? (() => Promise.reject(new Error('no model is asked here'))),
    fleet: { serves: rest.serves ?? (() => true) },
    quota: { standing: () => ({ ...STANDING, ...rest.standing }) },
    agents: createRemoteAgents({
      sender: createSender({ config: Outbound.parse(outbound) }),
      ...{ config: conversations, credentials },
    }),
    now,
  })
  return openConversations({
    ...{ config: conversations, store, speakers, now, logger: silent },
    events: { publish: rest.publish ?? (() => ({}) as never) },
    running: { add: () => {}, remove: () => {}, draining: rest.draining ?? (() => false) },
  })
}
