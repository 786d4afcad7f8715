import { isTool } from '../../kernel/declaration/declaration.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import type { Skill } from '../../kernel/declaration/skill.ts'

/** Facts that the card is derived from. */
export interface CardFacts {
  skills: readonly Skill[]
  operations: readonly Operation[]
  /** Discovery modules: the leaf discovery skills. */
  modules: readonly { id: string; domain: string }[]
  /** Parts that leave no trace in the lists. */
  built: ReadonlySet<Part>
}

/** Features that are a protocol or a mechanism rather than a skill. */
export type Part =
  | 'a2a-bindings'
  | 'a2a-streaming'
  | 'a2a-push'
  | 'a2a-history'
  | 'cascade'
  | 'hebbian-learning'
  | 'pheromone-trails'

/** Discovery paths by their name on the card (interface specification 4.4). */
const DISCOVERY_PATHS = {
  status: '/a2a/discovery',
  dashboard: '/a2a/discovery/dashboard',
  registry: '/a2a/discovery/registry',
  export: '/a2a/discovery/export',
  subscribe: '/a2a/discovery/subscribe',
  run: '/a2a/discovery/run',
} as const

/** Modules that listen to a radio; the card does not count their skills. */
const RADIO_SCANS = ['mdns-scan', 'wifi-scan', 'ble-scan']

/** A capability is true if it is implemented, not if it is planned. */
export const capabilities = ({ skills, built }: CardFacts) => ({
  streaming: built.has('a2a-streaming'),
  pushNotifications: built.has('a2a-push'),
  stateTransitionHistory: built.has('a2a-history'),
  intelligence_cascade: built.has('cascade'),
  neural_graph: hasSkill(skills, 'neural-query'),
  synesthetic_translation: hasSkill(skills, 'synesthetic-translate'),
  hebbian_learning: built.has('hebbian-learning'),
})

export const swarm = (registered: CardFacts, mcpUrl: string) => ({
  protocol: 'shoal-swarm/v1',
  mcp_endpoint: mcpUrl,
  mcp_tools: [...registered.skills, ...registered.operations].filter(isTool).length,
  pheromone_trails: registered.built.has('pheromone-trails'),
  conversational_flows: hasSkill(registered.skills, 'multi-agent-conversation'),
  physical_devices: hasSkill(registered.skills, 'device-command'),
  discovery_universe: registered.modules.length > 0,
})

export const discoveryUniverse = ({ modules, operations }: CardFacts) => ({
  version: '1.0.0',
  modules: modules.length,
  skills: modules.filter(({ id }) => !RADIO_SCANS.includes(id)).length,
  auto_run: modules.length > 0,
  endpoints: Object.fromEntries(
    Object.entries(DISCOVERY_PATHS).filter(([, path]) => operations.some(op => op.path === path)),
  ),
  domains_covered: [...new Set(modules.map(({ domain }) => domain))],
})

const hasSkill = (skills: readonly Skill[], id: string): boolean =>
  skills.some(skill => skill.id === id)
