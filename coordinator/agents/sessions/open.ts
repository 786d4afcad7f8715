import type { Base } from '../../kernel/base/base.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Store } from '../../kernel/store/store.ts'
import { type Agents, createAgents } from './agents.ts'
import type { AgentsConfig } from './config.ts'

/** Sessions of agents, and the peers that stand in for operators. */
export interface AgentViews {
  agents: Agents
}

interface AgentDomainParts extends Pick<Base, 'now' | 'runtime'>, Pick<OpenLeader, 'leaderWork'> {
  config: { agents: AgentsConfig }
  store: Pick<Store, 'ledger'>
  events: Pick<Events, 'addWithin'>
}

const SWEEP_SECONDS = 15

export const openAgents = (parts: AgentDomainParts): { views: AgentViews } => {
  const { config, store, events, leaderWork, now, runtime } = parts
  const agents = createAgents({
    store,
    config: config.agents,
    addEvents: events.addWithin,
    now,
    runtime,
  })
  leaderWork.every('sessions.sweep', SWEEP_SECONDS, ledger => agents.sessions.sweep(ledger))
  return { views: { agents } }
}
