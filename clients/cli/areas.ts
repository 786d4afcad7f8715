import { Command } from 'commander'

/** Headings of the overview and their groups; other groups appear under the last heading. */
const AREAS: Record<string, readonly string[]> = {
  'Models and skills': ['chat', 'models', 'skills', 'health'],
  Agents: ['sessions', 'tasks', 'conversations', 'agents'],
  Fleet: [
    'host',
    'top',
    'cells',
    'alerts',
    'routing',
    'commands',
    'devices',
    'estop',
    'release',
    'swarm',
    'mqtt',
    'discover',
    'modules',
    'upstreams',
    'tags',
    'replicas',
    'tokens',
  ],
  Knowledge: ['graph'],
  Governance: ['gates', 'policy', 'audit', 'compliance', 'persons', 'signing'],
  'Events and work': ['events', 'webhooks', 'queue', 'flows', 'rampup', 'portal'],
  'Keys and usage': ['keys', 'tenants', 'tiers', 'usage'],
  Business: ['registers', 'people'],
  'This program': ['login', 'profile', 'doctor', 'version', 'completion', 'help'],
}
const OTHERS = 'More'

type Items<T> = Map<string, T[]>

/** The commands of the program under the headings of their areas, in the order given there. */
export const groupByArea = <T>(
  all: readonly T[],
  shown: readonly T[],
  groupOf: (item: T) => string,
): Items<T> => {
  const isProgram = all.some(item => item instanceof Command && item.parent?.parent === null)
  if (!isProgram) return groupItems(shown, groupOf)
  const groups = groupItems(shown, item => `${areaOf((item as Command).name())}:`)
  const order = [...Object.keys(AREAS), OTHERS].map(area => `${area}:`)
  return new Map([...groups].toSorted(([a], [b]) => order.indexOf(a) - order.indexOf(b)))
}

const areaOf = (name: string): string =>
  Object.keys(AREAS).find(area => AREAS[area]?.includes(name)) ?? OTHERS

const groupItems = <T>(items: readonly T[], groupOf: (item: T) => string): Items<T> => {
  const groups: Items<T> = new Map()
  for (const item of items) groups.set(groupOf(item), [...(groups.get(groupOf(item)) ?? []), item])
  return groups
}
