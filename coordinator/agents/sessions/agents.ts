import type { Runtime } from '../../../shared/runtime.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { AgentsConfig } from './config.ts'
import { Peers } from './peers.ts'
import { Sessions } from './sessions.ts'

/** Agents: their sessions, the peers that stand in for operators, and the profiles. */
export interface Agents {
  sessions: Sessions
  peers: Peers
  profiles: AgentsConfig['profiles']
}

interface AgentParts {
  store: Pick<Store, 'ledger'>
  config: AgentsConfig
  addEvents: Events['addWithin']
  now: () => number
  runtime: Pick<Runtime, 'ids'>
}

export const createAgents = (parts: AgentParts): Agents => ({
  sessions: new Sessions(parts),
  peers: new Peers({ ...parts, holdMs: parts.config.peer_minutes * 60_000 }),
  profiles: parts.config.profiles,
})
